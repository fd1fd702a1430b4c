"""docs/settings.md documents every setting as the program does."""

from __future__ import annotations

from pathlib import Path

from kernel.settings import SETTINGS

PAGE = Path(__file__).parents[2] / "docs" / "settings.md"


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
