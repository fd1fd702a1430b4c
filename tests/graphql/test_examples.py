"""The playground's examples are valid, also by the rules of the specification: editors mark what only our server accepts."""

from __future__ import annotations

from pathlib import Path

import pytest
from graphql import build_schema, parse, validate

from resolvers import root
from resolvers.engine.prepare import prepare_document

EXAMPLES = sorted((Path(__file__).parents[2] / "server" / "assets" / "src" / "examples").glob("*.graphql"))
SCHEMA = build_schema(root.public_text())


def test_there_are_examples() -> None:
    assert len(EXAMPLES) >= 5


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_is_valid(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert validate(SCHEMA, parse(text)) == []
    assert prepare_document(root.public_schema(), text, limited=True).errors == ()
