"""The playground's examples are valid in the current schema."""

from __future__ import annotations

from pathlib import Path

import pytest

from resolvers import root
from resolvers.engine.prepare import prepare_document

EXAMPLES = sorted((Path(__file__).parents[2] / "server" / "assets" / "src" / "examples").glob("*.graphql"))


def test_there_are_examples() -> None:
    assert len(EXAMPLES) >= 5


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_is_valid(path: Path) -> None:
    prepared = prepare_document(root.public_schema(), path.read_text(encoding="utf-8"), limited=True)
    assert prepared.errors == ()
