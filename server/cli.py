"""The command `vitrine`: exit code 0, 1 (failed, with one line on stderr) or 2 (wrong usage)."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Coroutine, Sequence
from typing import Any

from kernel.garbage_collection import collect_rarely_at_start
from server.commands.output import open_closed_streams, print_error, print_line, write_utf8

SUCCESS, FAILURE = 0, 1


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command that the arguments select and return the exit code."""
    open_closed_streams()
    write_utf8()
    try:
        try:
            args = parser().parse_args(arguments)
        finally:
            sys.stdout.flush()  # the help
        collect_rarely_at_start()
        code = args.run(args)
        if isinstance(code, Coroutine):
            from server.commands.context import run_command

            code = run_command(code)
        return code or SUCCESS
    except KeyboardInterrupt:
        print_error("interrupted")
        return FAILURE
    except BrokenPipeError:
        # The reader closed the pipe (`vitrine tenant list | head`); nothing may be written at exit either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return SUCCESS
    except Exception as error:
        from server.commands.errors import describe_error

        message = describe_error(error)
        if message is None:
            raise
        print_error(message)
        return FAILURE


def parser() -> argparse.ArgumentParser:
    """Declare all commands; their modules take a third of a second to load, in which Ctrl-C is one like any other."""
    from server.commands import (
        apps,
        backup,
        cells,
        customers,
        database,
        demo,
        doctor,
        documents,
        import_data,
        keys,
        openapi,
        records,
        report,
        schema,
        serve,
        tenants,
        users,
    )

    result = argparse.ArgumentParser(
        prog="vitrine",
        description="A multi-tenant store platform: GraphQL core with REST APIs.",
        epilog="Settings come from the environment (docs/settings.md); `vitrine doctor` checks them.",
    )
    result.add_argument("--version", action=_Version, help="print the version and exit")
    commands = result.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for module in (
        serve,
        database,
        backup,
        demo,
        import_data,
        tenants,
        users,
        customers,
        report,
        apps,
        documents,
        records,
        keys,
        cells,
        schema,
        openapi,
        doctor,
    ):
        module.add(commands)
    return result


class _Version(argparse.Action):
    """Print the version, which is looked up only when requested."""

    def __init__(self, option_strings: Sequence[str], dest: str, **rest: Any) -> None:
        super().__init__(option_strings, dest, nargs=0, **rest)

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from importlib.metadata import version

        print_line(f"vitrine {version('vitrine')}")
        parser.exit(SUCCESS)


if __name__ == "__main__":
    sys.exit(main())
