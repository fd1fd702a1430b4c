"""docs/settings.md documents every setting as the program does, docs/reference/shared.md every setting of a store."""

from __future__ import annotations

import re
from pathlib import Path

from domain.store_settings import STORE_SETTINGS
from kernel.settings import SETTINGS

PAGE = Path(__file__).parents[2] / "docs" / "settings.md"
REFERENCE = PAGE.parent / "reference" / "shared.md"


def test_every_setting_is_documented() -> None:
    rows = [
        f"| `{setting.name}` | {setting.type} | {setting.default or '–'} | {setting.description} |".replace("||", "|")
        for setting in SETTINGS
    ]
    text = PAGE.read_text(encoding="utf-8")
    missing = [row for row in rows if row not in text]
    assert missing == [], "write these lines into docs/settings.md:\n" + "\n".join(missing)


def test_only_existing_settings_are_documented() -> None:
    names = {setting.name for setting in SETTINGS}
    documented = {
        line.split("`")[1] for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| `")
    }
    assert documented == names


def test_exactly_the_settings_of_a_store_are_documented() -> None:
    table = REFERENCE.read_text(encoding="utf-8").partition("\nSettings of a store (")[2].partition("\n\n| ")[2]
    rows = [row.split("|")[1] for row in f"| {table}".partition("\n\n")[0].splitlines()]
    documented = set(re.findall(r"`(\w+)(?:_<name>)?`", " ".join(rows)))
    assert {"mail" if name.startswith("mail_") else name for name in STORE_SETTINGS} == documented, (
        "a setting of a store has a row in docs/reference/shared.md, below `Settings of a store`"
    )
