"""What every client is put through: list, search, describe, execute, an error, a cancel and a close.

    walk.py mcp URL
    walk.py fastmcp URL

Needs a daemon with the plugins `records` and `faulty`. Exits with 0 when all of it holds, else with a traceback.
"""

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable
from typing import Any

import fastmcp
import mcp

Call = Callable[..., Awaitable[Any]]

PROGRAM = """
def main():
    records.put(key = "fruit", value = {"name": "apple"})
    return records.lookup(key = "fruit")["count"] > 0
"""
MISTAKEN = 'def main():\n    return records.lookup(ky = "a")\n'
# Nobody waits for it to the end.
LONG = 'def main():\n    faulty.note(text = "begun")\n    faulty.wait()\n'


def done(step: str) -> None:
    print(f"ok: {step}")


async def walk(tools: list[Any], call: Call) -> None:
    """`call` takes a tool, its arguments and what to do on progress."""
    assert [tool.name for tool in tools] == ["search_api", "describe_api", "execute"], tools
    done("list")

    found = await call("search_api", {"query": "count the entries under a key"})
    assert found.structured_content["results"][0]["name"] == "records.lookup", found
    assert json.loads(found.content[0].text) == found.structured_content, found
    done("search")

    described = await call("describe_api", {"name": "records.lookup"})
    assert described.structured_content["signature"].startswith("records.lookup(*, key: str"), described
    done("describe")

    executed = await call("execute", {"source": PROGRAM})
    assert executed.structured_content == {"result": True}, executed
    done("execute")

    failed = await call("execute", {"source": MISTAKEN})
    assert failed.is_error and failed.structured_content is None, failed
    assert 'unknown argument "ky"; did you mean "key"?' in failed.content[0].text, failed
    done("error")

    await cancel(call)
    executed = await call("execute", {"source": PROGRAM})
    assert executed.structured_content == {"result": True}, executed
    done("cancel")


async def cancel(call: Call) -> None:
    """Cancels a run when there is word of its progress."""
    begun = asyncio.Event()

    async def progress(*_: Any) -> None:
        begun.set()

    running = asyncio.create_task(call("execute", {"source": LONG}, progress))
    await asyncio.wait_for(begun.wait(), 20)
    running.cancel()
    try:
        await running
    except asyncio.CancelledError:
        return
    raise AssertionError("the run answered although it was cancelled")


async def with_mcp(url: str) -> None:
    async with mcp.Client(url, read_timeout_seconds=30) as client:

        async def call(tool: str, arguments: dict[str, Any], progress: Any = None) -> Any:
            return await client.call_tool(tool, arguments, progress_callback=progress)

        await walk((await client.list_tools()).tools, call)
    done("close")


async def with_fastmcp(url: str) -> None:
    async with fastmcp.Client(url, timeout=30) as client:

        async def call(tool: str, arguments: dict[str, Any], progress: Any = None) -> Any:
            return await client.call_tool_mcp(tool, arguments, progress_handler=progress)

        await walk(await client.list_tools(), call)
    done("close")


if __name__ == "__main__":
    CLIENTS = {"mcp": with_mcp, "fastmcp": with_fastmcp}
    asyncio.run(CLIENTS[sys.argv[1]](sys.argv[2]))
