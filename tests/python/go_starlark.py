"""Runs programs in the Go interpreter: a JSON list of sources on standard input, a JSON list of outcomes on standard output.

An outcome is `{"value": TEXT}`, what the program's `main` returned, or `{"failure": TEXT}`.
"""

import json
import sys

from starlark_go import Starlark, StarlarkError, configure_starlark


def outcome(source: str) -> dict[str, str]:
    # What a program prints is discarded here too.
    interpreter = Starlark(print=lambda _: None)
    try:
        interpreter.exec(source)
        return {"value": interpreter.eval("main()")}
    except StarlarkError as failure:
        return {"failure": str(failure)}


def main() -> None:
    # What this project's dialect has, and Go's only on request.
    configure_starlark(allow_set=True, allow_recursion=True, allow_global_reassign=True)
    sources = json.load(sys.stdin)
    json.dump([outcome(source) for source in sources], sys.stdout)


if __name__ == "__main__":
    main()
