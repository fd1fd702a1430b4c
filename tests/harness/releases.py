"""The previous release of Vitrine, as the history of this checkout has it."""

from __future__ import annotations

import re
import subprocess

from tests.harness.programs import ROOT

MIGRATIONS = "models/migrations/sql"


def git(*arguments: str) -> bytes:
    """Return the output of git in this checkout."""
    return subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True, check=True).stdout


def released_commit() -> str | None:
    """Return the commit of the newest release from which an upgrade applies migrations; None where the history doesn't reach back to it.

    Until the first migration after a release, that is the release before it.
    """
    released = re.findall(r"^## (\d\S*) - ", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), flags=re.MULTILINE)
    try:
        # The first commits of a shallow clone seem to add everything that is older.
        shallow = ROOT / git("rev-parse", "--git-path", "shallow").decode().strip()
        first = shallow.read_text(encoding="ascii").split() if shallow.exists() else []
        present = migrations_of("HEAD")
        for version in released:
            commits = git("log", f"-S## {version} - ", "--format=%H", "--", "CHANGELOG.md").decode().split()
            if commits and commits[-1] in first:
                return None
            # The newest: what was taken back was no release.
            if commits and migrations_of(commits[0]) < present:
                return commits[0]
    except (OSError, subprocess.CalledProcessError):
        pass
    return None


def migrations_of(commit: str) -> set[str]:
    return set(git("ls-tree", "-d", "--name-only", f"{commit}:{MIGRATIONS}").decode().split())
