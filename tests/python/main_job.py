"""The main job, through the door an agent uses: find a capability, read its types, compose it in one program.

    main_job.py http://127.0.0.1:8787/mcp

Needs a daemon on config/codemode.toml. The program is config/examples/largest.star; what it answers is compared
with what `find`, `wc` and `grep` say about the same checkout. Exits with 0 when all of it holds, else with 1.
"""

import asyncio
import subprocess
import sys
from pathlib import Path
from typing import Any

from client import Connection, connect

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "config/examples/largest.star"
FOLDERS = ["codemoded/src", "plugin-api"]
TOOLS = ["search_api", "describe_api", "execute"]
LARGEST = 10
# Fewer files than this would not show that one program saves round trips.
FEWEST_FILES = 20


class Wrong(Exception):
    """The daemon answered well-formed, but not what it had to."""


def demand(holds: bool, complaint: str) -> None:
    if not holds:
        raise Wrong(complaint)


def shell(*command: str) -> str:
    # `grep -c` exits with 1 when it counts 0.
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=command[0] != "grep").stdout


def measured() -> list[dict[str, Any]]:
    """Every Rust file of the two folders as the system's own tools see it, largest first, then by path."""
    paths = shell("find", *FOLDERS, "-name", "*.rs", "-type", "f").split()
    demand(len(paths) >= FEWEST_FILES, f"only {len(paths)} Rust files under {FOLDERS}, fewer than {FEWEST_FILES}")
    files = [
        {
            "path": path,
            "lines": int(shell("wc", "-l", path).split()[0]),
            "fns": int(shell("grep", "-c", r"\bfn ", path)),
        }
        for path in paths
    ]
    return sorted(files, key=lambda file: (-file["lines"], file["path"]))


async def lists_the_three_tools_in_order(daemon: Connection) -> None:
    names = [tool.name for tool in await daemon.list()]
    demand(names == TOOLS, f"tools/list: expected {TOOLS}, got {names}")


async def finds_the_search_capability_first(daemon: Connection) -> None:
    found = await daemon.call("search_api", query="find text in files")
    names = [result["name"] for result in found["results"]]
    demand(names[:1] == ["files.search"], f"search_api: expected files.search first, got {names}")


async def describes_typed_input_and_output(daemon: Connection) -> None:
    described = await daemon.call("describe_api", name="files.search")
    for side in ("input", "output"):
        fields = described[side]
        demand(bool(fields), f"describe_api: files.search has no {side} field")
        for field in fields:
            demand(
                bool(field["name"]) and bool(field["type"]) and isinstance(field["required"], bool),
                f"describe_api: files.search: an {side} field without name, type or required: {field}",
            )
    demand(
        described["signature"].startswith("files.search(*, "),
        f"describe_api: not a signature of files.search: {described['signature']}",
    )


async def composes_over_twenty_calls_into_ten_rows(daemon: Connection) -> None:
    expected = measured()[:LARGEST]
    answered = (await daemon.call("execute", source=PROGRAM.read_text()))["result"]
    demand(
        answered == expected,
        "execute: the program's rows differ from what find, wc and grep say\n"
        f"  program: {answered}\n  system:  {expected}",
    )


async def main_job(url: str) -> None:
    async with connect(url) as daemon:
        for step in (
            lists_the_three_tools_in_order,
            finds_the_search_capability_first,
            describes_typed_input_and_output,
            composes_over_twenty_calls_into_ten_rows,
        ):
            await step(daemon)
            print(f"ok: {step.__name__.replace('_', ' ')}")


def leaves(raised: BaseException) -> list[BaseException]:
    """What went wrong, out of the groups that the client's task groups wrap it in."""
    if isinstance(raised, BaseExceptionGroup):
        return [leaf for inner in raised.exceptions for leaf in leaves(inner)]
    return [raised]


def main(arguments: list[str]) -> int:
    if len(arguments) != 1:
        print("usage: main_job.py URL", file=sys.stderr)
        return 1
    try:
        asyncio.run(main_job(arguments[0]))
    except Exception as raised:
        for failure in leaves(raised):
            print(f"failed: {type(failure).__name__}: {failure}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
