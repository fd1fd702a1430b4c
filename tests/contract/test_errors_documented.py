"""The tables of errors in docs name the classes and codes that exist, with their statuses."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from kernel import errors
from kernel.errors import DomainError
from resolvers.engine.executor import CODES

DOCS = Path(__file__).parents[2] / "docs"
SHARED = (DOCS / "reference" / "shared.md").read_text(encoding="utf-8").partition("## Error codes\n")[2]


def documented() -> Iterator[tuple[str, int, str]]:
    """Yield class, status and GraphQL code of each row of docs/reference/shared.md#error-codes."""
    for names, status, code in re.findall(r"^\| (`\w+`(?:, `\w+`)*) \| (\d{3}) \| `(\w+)` \|", SHARED, re.MULTILINE):
        for name in re.findall(r"\w+", names):
            yield name, int(status), code


def graphql_code(error: type[DomainError]) -> str:
    return next(code for ancestor in error.__mro__ if (code := getattr(ancestor, "code", None)) in CODES)


def test_the_reference_lists_every_class_of_errors_with_its_status_and_code() -> None:
    classes = [each for each in vars(errors).values() if isinstance(each, type) and issubclass(each, DomainError)]
    expected = {(each.__name__, each.status, graphql_code(each)) for each in classes if each is not DomainError}
    assert set(documented()) == expected, "docs/reference/shared.md#error-codes"


@pytest.mark.parametrize("page", ["errors.md", "reference/graphql.md"])
def test_the_pages_for_clients_list_every_public_code(page: str) -> None:
    rows = re.findall(r"^\| (`[A-Z].*?) \|", (DOCS / page).read_text(encoding="utf-8"), re.MULTILINE)
    assert CODES - set(re.findall(r"\w+", " ".join(rows))) == set()
