"""The previous release of Vitrine, as the history of this checkout has it."""

from __future__ import annotations

import re
import subprocess

from tests.harness.programs import ROOT


def git(*arguments: str) -> bytes:
    """Return the output of git in this checkout."""
    return subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True, check=True).stdout


def released_commit() -> str | None:
    """Return the commit of the newest release in the changelog; None where the history doesn't reach back to it."""
    released = re.findall(r"^## (\d\S*) - ", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), flags=re.MULTILINE)
    try:
        commits = git("log", f"-S## {released[0]} - ", "--format=%H", "--", "CHANGELOG.md").decode().split()
        # The first commits of a shallow clone seem to add everything that is older.
        shallow = ROOT / git("rev-parse", "--git-path", "shallow").decode().strip()
        first = shallow.read_text(encoding="ascii").split() if shallow.exists() else []
    except (OSError, subprocess.CalledProcessError):
        return None
    return commits[-1] if commits and commits[-1] not in first else None
