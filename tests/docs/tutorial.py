"""Execute a tutorial: its Bash blocks in order in one shell, in an empty folder.

* A `bash` block is executed; a command that fails ends the tutorial.
* A `text` block directly after it is the expected output; `…` stands for any text.
* A `python` block whose first line is `# name.py` is saved under that name.
* Blocks without a language are not executed.
"""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.harness import programs
from tests.harness.programs import ROOT

PAGES = ROOT / "docs" / "tutorials"
TIMEOUT_SECONDS = 300
ANY_TEXT = "…"

_BLOCK = re.compile(r"^```(?P<language>[a-z]*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Command:
    """A Bash block, its line in the page and the output that the page shows for it."""

    line: int
    text: str
    expected: str | None = None


def read_page(page: Path) -> tuple[list[Command], dict[str, str]]:
    """Return the commands and the Python files of a page."""
    commands: list[Command] = []
    files: dict[str, str] = {}
    content = page.read_text(encoding="utf-8")
    for block in _BLOCK.finditer(content):
        line, text = content[: block.start()].count("\n") + 2, block["text"]
        if block["language"] == "bash":
            commands.append(Command(line, text))
        elif block["language"] == "python":
            files[text.split("\n", 1)[0].removeprefix("# ")] = text
        elif block["language"] == "text":
            commands[-1] = Command(commands[-1].line, commands[-1].text, text)
    return commands, files


def run_page(page: Path, folder: Path, environment: dict[str, str]) -> None:
    """Execute the page in the folder; fail with the line of the first block that fails or prints something else."""
    commands, files = read_page(page)
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    _install_programs(folder / ".venv" / "bin")
    script = ["set -euo pipefail"]
    for number, command in enumerate(commands):
        (folder / f"block-{number}.sh").write_text(command.text, encoding="utf-8")
        script.append(f"{{ . ./block-{number}.sh; }} >block-{number}.out 2>&1 </dev/null")
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "PYTHONPATH": str(ROOT), **environment}
    shell = subprocess.Popen(
        ["bash", "-c", "\n".join(script)],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        code: int | str = shell.wait(TIMEOUT_SECONDS)
    except subprocess.TimeoutExpired:
        code = f"none after {TIMEOUT_SECONDS} s"
    finally:
        _stop_group(shell)
    executed = [
        (command, path.read_text(encoding="utf-8"))
        for number, command in enumerate(commands)
        if (path := folder / f"block-{number}.out").exists()
    ]
    for command, output in executed:
        if command.expected is not None and not matches(command.expected, output):
            pytest.fail(f"{page.name}:{command.line} printed\n{output}\nexpected\n{command.expected}")
    if code != 0:
        last, last_output = executed[-1]
        pytest.fail(f"{page.name}:{last.line} failed (exit code {code}):\n{last.text}\n{last_output}")


def _install_programs(folder: Path) -> None:
    """Create the programs that set-up installs into `.venv/bin`."""
    folder.mkdir(parents=True)
    for name, program in (("python3", [sys.executable]), ("vitrine", programs.shell_command())):
        (folder / name).write_text(f'#!/bin/sh\nexec {shlex.join(program)} "$@"\n', encoding="utf-8")
        (folder / name).chmod(0o755)


def matches(expected: str, output: str) -> bool:
    """Return whether the output is the expected one, in which `…` stands for any text."""
    pattern = ".*".join(re.escape(part) for part in expected.strip().split(ANY_TEXT))
    return re.fullmatch(pattern, output.strip(), re.DOTALL) is not None


def _stop_group(shell: subprocess.Popen[bytes]) -> None:
    """Stop the shell and what it started in the background: politely, then for certain."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(shell.pid, number)
        except ProcessLookupError:
            return
        try:
            shell.wait(5)
        except subprocess.TimeoutExpired:
            continue
