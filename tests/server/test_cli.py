"""The command line in general: help, usage, settings, snapshots, an unavailable database."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import asyncpg
import pytest

from kernel.garbage_collection import collect_rarely
from kernel.settings import Settings
from server import cli
from server.commands import schema as schema_command
from server.commands.errors import describe_error
from server.operations import checks
from tests.server.command_line import PROGRAM, SECRET, Vitrine

COMMANDS = (
    "serve", "worker", "migrate", "backup", "restore", "demo", "import", "import olist", "import cscart",
    "import csv", "import jsonl", "tenant", "tenant create", "tenant list", "tenant suspend",
    "tenant resume", "tenant maintenance", "user", "user create", "user api-key", "user privileges",
    "app", "app create", "storefront-key", "storefront-key create", "documents", "documents push",
    "keys", "keys rotate", "keys reencrypt", "cells map", "cells sync", "schema", "doctor",
)  # fmt: skip
AWAY = "postgresql://u:hunter2@127.0.0.1:1/d"


@pytest.fixture(autouse=True)
def _thresholds_of_tests() -> Iterator[None]:
    """Undo what a command sets for its process, this one here."""
    yield
    collect_rarely()


@pytest.fixture
def vitrine(tmp_path: Path) -> Vitrine:
    return Vitrine(tmp_path)


# --- Help and usage --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(command, capsys):
    with pytest.raises(SystemExit) as ended:
        cli.main([*command.split(), "--help"])
    assert ended.value.code == 0
    assert capsys.readouterr().out.startswith(f"usage: vitrine {command} ")


@pytest.mark.parametrize(
    "arguments",
    [
        "",
        "dance",
        "tenant",
        "tenant suspend",
        "user create --tenant x --email a@b.example",
        "user create --tenant x --email a@b.example --type Q",
        "user api-key --tenant x",
        "app",
        "app create Etiquetas",
        "app create Etiquetas --redirect-uri https://a.example/ --scopes all --mode prod",
        "storefront-key create",
        "storefront-key create --tenant x --rate-limit many",
        "keys",
        "import",
        "import olist",
        "import olist data",
        "import cscart saved",
        "import cscart --tenant x --since yesterday saved",
        "schema --write --check",
        "serve loudly",
    ],
)
def test_wrong_usage_exits_with_2_and_a_usage_message(arguments, capsys):
    with pytest.raises(SystemExit) as ended:
        cli.main(arguments.split())
    assert ended.value.code == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err.startswith("usage: vitrine")


def test_help_is_fast_and_imports_nothing_heavy(vitrine):
    began = time.monotonic()
    answer = vitrine.run_subprocess("--help")
    assert answer.code == 0
    # A long name has its help on the next line.
    lines = {line.split(maxsplit=1)[0] for line in answer.out.splitlines() if line.startswith("    ") and line.strip()}
    assert {command for command in COMMANDS if " " not in command} <= lines
    # A bound that a busy machine keeps; what matters is that the libraries take longer than this.
    assert time.monotonic() - began < 5
    assert vitrine("--version").out.startswith("vitrine ")


# --- Settings --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", [["serve"], ["tenant", "list"], ["migrate"]])
def test_an_invalid_setting_is_reported_in_one_line(vitrine, command):
    assert vitrine(*command, PORT="many").error_line == ("PORT is 'many'; expected a whole number from 0 to 65535")


def test_production_without_a_secret_is_refused(vitrine):
    error_line = vitrine("worker", VITRINE_ENV="production", VITRINE_SECRET_KEY="").error_line
    assert error_line.startswith("VITRINE_SECRET_KEY is not set")


@pytest.mark.parametrize("command", [["serve"], ["worker"], ["migrate"], ["keys", "rotate"]])
def test_an_unavailable_database_is_reported_in_one_line_without_its_password(vitrine, command):
    error_line = vitrine(*command, DATABASE_URL=AWAY, PORT="0").error_line
    assert error_line.startswith("the database is not available; try again (")
    assert "hunter2" not in error_line


@pytest.mark.parametrize("kind", [asyncpg.InternalClientError, asyncpg.InterfaceError, asyncpg.PostgresError, OSError])
async def test_a_connection_that_is_lost_is_reported_by_commands_and_by_doctor(
    monkeypatch: pytest.MonkeyPatch, database_url: str, kind: type[Exception]
):
    async def lose(*_: object) -> None:
        raise kind("it was terminated")

    assert "it was terminated" in str(describe_error(kind("it was terminated")))
    monkeypatch.setattr(checks, "_check_version", lose)
    settings = Settings(database_url=database_url, secret_key=SECRET)
    results = [result async for result in checks._check_database(settings, has_storage=False, deletes_orphans=False)]
    assert [(each.check, each.level.value, each.text) for each in results] == [
        ("database", "fail", "it was terminated")
    ]


# --- Snapshots of the schema -----------------------------------------------------------------------------------------


def test_the_schema_is_printed_without_settings_or_database(vitrine, capsys):
    assert cli.main(["schema"]) == 0
    public = capsys.readouterr().out
    assert cli.main(["schema", "--internal"]) == 0
    internal = capsys.readouterr().out
    assert "\ntype Product implements Node {" in public
    assert "legacy_token_create(" in internal
    assert "legacy_token_create(" not in public


def test_snapshots_are_written_compared_and_reported_as_outdated(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(schema_command, "FOLDER", tmp_path)
    assert cli.main(["schema", "--check"]) == 1
    assert ", ".join(f"schema/{name}" for name in schema_command.NAMES) in capsys.readouterr().err
    assert cli.main(["schema", "--write"]) == 0
    assert capsys.readouterr().out == "".join(f"wrote schema/{name}\n" for name in schema_command.NAMES)
    assert cli.main(["schema", "--check"]) == 0
    (tmp_path / "public.graphql").write_text("type Query { nothing: Int }\n")
    assert cli.main(["schema", "--check"]) == 1
    assert cli.main(["schema", "--write"]) == 0
    assert capsys.readouterr().out.startswith("wrote schema/public.graphql\nunchanged: schema/internal.diff\n")
    assert cli.main(["schema"]) == 0
    assert capsys.readouterr().out == (tmp_path / "public.graphql").read_text()


def test_a_step_that_nobody_reads_ends_no_command():
    reader, writer = os.pipe()
    os.close(reader)
    program = (
        "from server.commands.output import print_error\nprint_error('copy')\nprint_error('switch')\nprint('moved')"
    )
    try:
        done = subprocess.run([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=writer, check=False)
    finally:
        os.close(writer)
    assert (done.returncode, done.stdout) == (0, b"moved\n")


@pytest.mark.parametrize("argument", ["--version", "--help", "schema"])
def test_output_that_nobody_reads_leaves_no_traceback(vitrine, argument):
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = subprocess.run(
            [*PROGRAM, argument],
            cwd=vitrine.root,
            env=vitrine.environment(),
            stdout=writer,
            stderr=subprocess.PIPE,
            check=False,
        )
    finally:
        os.close(writer)
    assert (done.returncode, done.stderr) == (0, b"")


def test_ctrl_c_while_the_commands_are_loaded_leaves_no_traceback(vitrine):
    program = """
import os, signal, sys
from server import cli
class Interruption:
    def find_spec(self, name, path=None, target=None):
        if name == "server.commands.users":
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Interruption())
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.exit(cli.main(["tenant", "list"]))
"""
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=vitrine.root,
        env=vitrine.environment(),
        stderr=subprocess.PIPE,
        check=False,
    )
    assert (done.returncode, done.stderr) == (1, b"vitrine: interrupted\n")


def test_closed_streams_end_no_command(vitrine):
    command = f"{shlex.join([*PROGRAM, 'schema'])} <&- >&- 2>&-"
    done = subprocess.run(["sh", "-c", command], cwd=vitrine.root, env=vitrine.environment(), check=False)
    assert done.returncode == 0
