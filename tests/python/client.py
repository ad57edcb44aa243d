"""A small MCP client for the tests: connect, list, call, and the checks that every answer must pass."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from mcp import Client

# Longer than any budget of the daemon, so that a test sees the daemon's own answer and not this.
ANSWER_TIMEOUT_SECS = 30.0


class Refused(Exception):
    """The daemon answered, and its answer is a failure; the message is the text a model would read."""


class Broken(Exception):
    """The daemon's answer breaks what an MCP client may rely on."""


class Connection:
    """One connected client."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def list(self) -> list[Any]:
        """The tools, in the daemon's order."""
        return (await self._client.list_tools()).tools

    async def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """The success value of one tool call."""
        answer = await self._client.call_tool(tool, arguments)
        texts = [item.text for item in answer.content if item.type == "text"]
        if len(texts) != 1 or len(answer.content) != 1:
            raise Broken(f"{tool}: expected one text item, got {answer.content!r}")
        if answer.is_error:
            if answer.structured_content is not None:
                raise Broken(f"{tool}: a failure carries structured content: {answer.structured_content!r}")
            raise Refused(f"{tool}: {texts[0]}")
        if not isinstance(answer.structured_content, dict):
            raise Broken(f"{tool}: a success without a structured object: {answer.structured_content!r}")
        if json.loads(texts[0]) != answer.structured_content:
            raise Broken(f"{tool}: the text does not mirror the structured content: {texts[0]}")
        return answer.structured_content


@asynccontextmanager
async def connect(url: str) -> AsyncIterator[Connection]:
    """A client over Streamable HTTP; the client itself checks each success against the tool's output schema."""
    async with Client(url, read_timeout_seconds=ANSWER_TIMEOUT_SECS) as client:
        yield Connection(client)
