"""Read docs/recipes.md, and apply a recipe's example to a copy of the repository.

The page says how its `diff` blocks are read.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/recipes.md"
_BLOCK = re.compile(r"^ *```(\w+)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
_SHARED = (".venv", "server/assets/built")


@dataclass(frozen=True)
class Change:
    """A change of a file: the `old` lines become the `new` ones, after the line that contains `after`."""

    path: str
    after: str
    old: tuple[str, ...]
    new: tuple[str, ...]

    def apply(self, root: Path) -> None:
        """Change the file; raise `ValueError`, which names the place, where the old lines don't occur exactly once."""
        file = root / self.path
        text = file.read_text() if file.exists() else ""
        start = text.find(self.after)
        old, new = ("".join(f"{line}\n" for line in lines) for lines in (self.old, self.new))
        count = f"\n{text[start:]}".count(f"\n{old}") if old else 1
        if start < 0 or count != 1:
            raise ValueError(
                f"docs/recipes.md changes {self.path}, where this occurs {count} times:\n{self.after}\n{old}"
            )
        head, tail = text[:start], f"\n{text[start:]}"
        changed = tail.replace(f"\n{old}", f"\n{new}") if old else f"{tail}{new}"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(head + changed[1:])


@dataclass(frozen=True)
class Recipe:
    """A section of the page: the changes of its example, and the commands that follow them."""

    title: str
    changes: tuple[Change, ...]
    commands: tuple[str, ...]


def recipes() -> list[Recipe]:
    """Return the recipes of the page."""
    sections = re.split(r"^## ", PAGE.read_text(), flags=re.MULTILINE)[1:]
    return [_recipe(*section.split("\n", 1)) for section in sections]


def _recipe(title: str, text: str) -> Recipe:
    blocks = _BLOCK.findall(text)
    changes = [change for language, block in blocks if language == "diff" for change in _changes(block)]
    commands = [line for language, block in blocks if language == "sh" for line in _commands(block)]
    return Recipe(title, tuple(changes), tuple(commands))


def _commands(block: str) -> list[str]:
    return block.replace("\\\n", " ").splitlines()


def _changes(block: str) -> Iterator[Change]:
    number = f"{max(int(path.name[:4]) for path in (ROOT / 'models/migrations/sql').glob('[0-9]*')) + 1:04}"
    for file in re.split(r"^\+\+\+ ", block.replace("<next>", number), flags=re.MULTILINE)[1:]:
        path, body = file.split("\n", 1)
        for hunk in re.split(r"^@@ ?", body, flags=re.MULTILINE) if body.startswith("@@") else [f"\n{body}"]:
            after, _, lines = hunk.partition("\n")
            if lines:
                yield _change(path, after, lines.rstrip("\n").splitlines())


def _change(path: str, after: str, lines: list[str]) -> Change:
    return Change(
        path,
        after,
        tuple(line[1:] for line in lines if not line.startswith("+")),
        tuple(line[1:] for line in lines if not line.startswith("-")),
    )


def copy_repository(to: Path) -> None:
    """Copy the files of the repository as they are; the environment and the built assets are links."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).exists():
            (to / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, to / name)
    for name in _SHARED:
        (to / name).symlink_to(ROOT / name)
