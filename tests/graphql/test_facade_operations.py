"""The facades' operations are valid in the internal schema; the server doesn't validate them again at each start."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest
from graphql import print_ast, validate

from resolvers.execute import FacadeOperation, InvalidOperation, load_operations
from resolvers.root import internal_schema
from rest_facade import apps, current
from rest_facade.legacy.resource_operations import load_legacy_operations
from rest_facade.records import FRAGMENTS
from server import demo

FOLDERS = [
    (current.OPERATIONS, FRAGMENTS),
    (apps.OPERATIONS, FRAGMENTS),
    (Path(demo.__file__).parent / "operations",),
]


def validate_operations(operations: Iterable[FacadeOperation]) -> None:
    for operation in operations:
        assert operation.prepared.document is not None
        for error in validate(internal_schema(), operation.prepared.document):
            raise InvalidOperation(f"{operation.name}: {error.message}")


@pytest.mark.parametrize("folders", FOLDERS, ids=lambda folders: folders[0].parent.name)
def test_the_operations_of_a_folder_are_valid(folders: tuple[Path, ...]):
    operations = load_operations(*folders)
    assert operations
    validate_operations(operations.values())


def test_the_legacy_operations_are_valid():
    operations: Mapping[str, FacadeOperation] = load_legacy_operations()
    assert len(operations) > 100
    validate_operations(operations.values())


@pytest.mark.parametrize(
    "text, expected",
    [
        (" { order { id } }", "($id: ID!) { order(id: $id) { id } }"),
        (" { own: order(id: 1) { id } }", " { own: order(id: 1) { id } }"),
        ("($key: ID!) { order(id: $key) { id } }", "($key: ID!) { order(id: $key) { id } }"),
        (
            " { user { id } page: inbox { total } }",
            "($id: ID!, $user_id: ID!, $page: Int! = 1, $per_page: Int! = 20)"
            " { user(id: $id) { id } page: inbox(user_id: $user_id, page: $page, per_page: $per_page) { total } }",
        ),
    ],
)
def test_the_variables_of_an_operation_that_declares_none_are_the_arguments_of_its_root_fields(
    text: str, expected: str, tmp_path: Path
):
    (tmp_path / "a.graphql").write_text(f"query A{text}")
    operation = load_operations(tmp_path)["A"]
    validate_operations([operation])
    assert " ".join(print_ast(operation.definition).split()) == f"query A{expected}"


@pytest.mark.parametrize(
    "text, message",
    [
        ("query A { store { id unknown } }", "A: Cannot query field 'unknown' on type 'Store'."),
        ("query A { unknown }", "a.graphql: A: the root field unknown does not exist"),
        ("query A { store { id }", "a.graphql: Syntax Error: Expected Name, found <EOF>."),
        ("query A { store { ...Missing } }", "the fragment Missing is not defined"),
    ],
)
def test_an_invalid_operation_is_refused(text: str, message: str, tmp_path: Path):
    (tmp_path / "a.graphql").write_text(text)
    with pytest.raises(InvalidOperation) as error:
        validate_operations(load_operations(tmp_path).values())
    assert str(error.value) == message
