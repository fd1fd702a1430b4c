"""The tables of errors in docs name the classes and codes that exist, with their statuses."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from kernel import errors
from kernel.errors import DomainError
from resolvers.engine.executor import CODES

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
LAYERS = ("auth", "domain", "kernel", "resolvers", "rest_facade", "schema", "server")
# What a button of the sandbox's page does, which shows the page again.
OF_NO_CLIENT = {"charge_status"}
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


def test_the_reference_of_graphql_lists_every_public_code() -> None:
    rows = re.findall(
        r"^\| (`[A-Z].*?) \|", (DOCS / "reference" / "graphql.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert CODES - set(re.findall(r"\w+", " ".join(rows))) == set()


def codes(keyword: str) -> set[str]:
    """Return the texts that errors are made with under a keyword."""
    sources = (path.read_text(encoding="utf-8") for layer in LAYERS for path in (ROOT / layer).rglob("*.py"))
    return {code for source in sources for code in re.findall(rf'{keyword}="([a-z]{{3}}[a-z_]*)"', source)}


def test_the_documents_name_every_reason_and_every_field_code_that_its_ending_does_not_explain() -> None:
    text = "".join(page.read_text(encoding="utf-8") for page in DOCS.rglob("*.md"))
    named = set(re.findall(r"\w+", text))
    assert codes("reason") - OF_NO_CLIENT - named == set()
    fields = {code for code in codes("code") | codes("required") if not re.search(r"_(invalid|taken|required)$", code)}
    assert fields - named == set()
