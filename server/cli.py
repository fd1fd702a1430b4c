"""The command `vitrine`: exit code 0, 1 (refused, with one clear line on stderr) or 2 (wrong usage)."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from typing import Any

from server.commands import (
    apps,
    database,
    demo,
    doctor,
    importing,
    keys,
    openapi,
    schema,
    serving,
    tenants,
    users,
)
from server.commands.output import complain, say

DONE, REFUSED = 0, 1


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command that the arguments name and give the exit code."""
    asked = parser().parse_args(arguments)
    try:
        code: int | None = asked.run(asked)
        return code or DONE
    except KeyboardInterrupt:
        complain("interrupted")
        return REFUSED
    except BrokenPipeError:
        # Whoever read our output has gone (`vitrine tenant list | head`); nothing may be written at exit either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    except Exception as error:
        from server.commands.refusals import explained

        line = explained(error)
        if line is None:
            raise
        complain(line)
        return REFUSED


def parser() -> argparse.ArgumentParser:
    """Declare every command."""
    made = argparse.ArgumentParser(
        prog="vitrine",
        description="A multi-store shop server: GraphQL inside, REST interfaces old and new outside.",
        epilog="Settings come from the environment (docs/settings.md); `vitrine doctor` checks them.",
    )
    made.add_argument("--version", action=_Version, help="say which version this is and stop")
    commands = made.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for module in (serving, database, demo, importing, tenants, users, apps, keys, schema, openapi, doctor):
        module.add(commands)
    return made


class _Version(argparse.Action):
    """Say the version, which is only looked up when somebody asks."""

    def __init__(self, option_strings: Sequence[str], dest: str, **rest: Any) -> None:
        super().__init__(option_strings, dest, nargs=0, **rest)

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from importlib.metadata import version

        say(f"vitrine {version('vitrine')}")
        parser.exit(DONE)


if __name__ == "__main__":
    sys.exit(main())
