"""Names in mails, which strangers can choose (docs/reference/current.md#registration)."""

import pytest

from domain.mails.texts import printable_name


@pytest.mark.parametrize(
    "name, printed",
    [
        ("Ana Souza", "Ana Souza"),
        ("João D'Ávila-Neto Jr.", "João D'Ávila-Neto Jr."),
        ("J.R. Lima", "J.R. Lima"),
        ("Ana\r\n\r\nYou won:\nhttps://evil.example/x", "Ana You won:"),
        ("Ana\u2028www.evil.example", "Ana"),
        ("evil.example", ""),
        ("evil\u3002example evil\uff0eexample ev\u200bil.example", ""),
        ("write to ana@evil.example", "write to"),
        ("x" * 100, "x" * 40),
        ("", ""),
    ],
    ids=ascii,
)
def test_a_name_is_one_short_line_without_links(name: str, printed: str) -> None:
    assert printable_name(name) == printed
