"""docs/settings.md says of every setting what the program says."""

from __future__ import annotations

from pathlib import Path

from kernel.settings import SETTINGS

PAGE = Path(__file__).parents[2] / "docs" / "settings.md"


def test_every_setting_has_its_line() -> None:
    rows = [
        f"| `{setting.name}` | {setting.type} | {setting.default or '–'} | {setting.line} |".replace(
            "||", "|"
        )
        for setting in SETTINGS
    ]
    text = PAGE.read_text(encoding="utf-8")
    missing = [row for row in rows if row not in text]
    assert missing == [], "write these lines into docs/settings.md:\n" + "\n".join(missing)


def test_no_setting_is_documented_that_there_is_not() -> None:
    names = {setting.name for setting in SETTINGS}
    documented = {
        line.split("`")[1] for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| `")
    }
    assert documented == names
