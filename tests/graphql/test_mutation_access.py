"""Which mutations each kind of caller may call: `golden/mutations_by_caller.txt`, to be reviewed with every change.

Accept a change with VITRINE_ACCEPT=1. Rules within a mutation (own records, rights of the changed user) have tests of their own.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from graphql import (
    GraphQLField,
    GraphQLInputObjectType,
    GraphQLList,
    GraphQLNonNull,
    get_named_type,
    is_input_object_type,
    is_object_type,
    is_required_argument,
    is_required_input_field,
)

from auth.access import Access
from auth.app_scopes import APP_SCOPES, STOREFRONT_SCOPES, expand_scopes
from auth.privileges import AREAS, expand_privileges
from kernel.received_files import file_of_bytes
from kernel.scope import Scope
from resolvers import root
from schema.fields import ACCESS, access_of, strawberry_field
from tests.graphql.conftest import ExecuteQuery, StoreRecords
from tests.harness.oauth import graphql_result
from tests.harness.records import UNKNOWN_ID
from tests.harness.sample_store import SampleStore
from tests.harness.scopes import StoreAccess, is_allowed

GOLDEN = Path(__file__).parent / "golden" / "mutations_by_caller.txt"
SCHEMA = root.public_schema()
assert SCHEMA.mutation_type is not None
MUTATIONS: Mapping[str, GraphQLField] = SCHEMA.mutation_type.fields
VALUES = {
    "AddressType": "S",
    "PaymentKind": "PIX",
    "PaymentState": "PAID",
    "BigInt": "1",
    "Int": "1",
    "Boolean": "true",
    "DateTime": '"2026-01-01T00:00:00Z"',
    "JSON": "{}",
    "ID": f'"{UNKNOWN_ID}"',
    "Upload": "$file",
}
FILE = file_of_bytes(b"x", "a.txt", "text/plain")


def callers(store: StoreAccess) -> dict[str, Scope]:
    """Return every kind of caller; administrators and apps with one right each."""
    user: dict[str, Any] = {"user_id": 1}
    named = {
        "anonymous": store.as_anonymous(family="graphql"),
        **{name: store.as_storefront(scopes=frozenset({name})) for name in STOREFRONT_SCOPES},
        "customer": store.as_customer(1),
        "vendor": store.as_vendor(1, family="graphql", **user),
        "app without scopes": store.as_app(installation_id=1),
    }
    apps = {f"app {name}": store.as_app(installation_id=1, scopes=expand_scopes([name])) for name in sorted(APP_SCOPES)}
    admins = {"administrator without privileges": store.as_admin(**user)} | {
        f"administrator {name}": store.as_admin(privileges=expand_privileges([name]), **user)
        for area in AREAS
        for name in (f"view_{area}", f"manage_{area}")
    }
    return named | apps | admins


def access(name: str) -> Access:
    declared = strawberry_field(MUTATIONS[name])
    assert declared is not None
    rule: Access = declared.metadata[ACCESS]
    return rule


# What the caller without any right may do is listed once, not again for those with a right.
BASES = {"app ": "app without scopes", "administrator ": "administrator without privileges"}


def mutations_by_caller(store: StoreAccess) -> str:
    """Return a paragraph per caller that lists the mutations it may call, sorted."""
    allowed = {
        caller: {name for name in MUTATIONS if is_allowed(access(name), scope)}
        for caller, scope in callers(store).items()
    }
    paragraphs = []
    for caller, names in allowed.items():
        base = next((base for prefix, base in BASES.items() if caller.startswith(prefix) and caller != base), None)
        own = names - allowed[base] if base is not None else names
        title = f"{caller}, in addition to {base}:" if base is not None else f"{caller}:"
        paragraphs.append("\n".join([title, *(f"  {name}" for name in sorted(own) or ["nothing"])]))
    return "\n\n".join(paragraphs) + "\n"


async def test_each_caller_may_call_the_reviewed_mutations(records: StoreRecords) -> None:
    text = mutations_by_caller(records)
    if os.environ.get("VITRINE_ACCEPT") == "1":
        GOLDEN.parent.mkdir(exist_ok=True)
        GOLDEN.write_text(text)
    assert GOLDEN.read_text() == text, (
        f"VITRINE_ACCEPT=1 writes {GOLDEN.name}: its difference is the review of the access rules"
    )


def _value(type_: Any) -> str:
    """Return the literal of a value of an input type, with required fields only."""
    if isinstance(type_, GraphQLNonNull):
        return _value(type_.of_type)
    if isinstance(type_, GraphQLList):
        return "[]"
    if is_input_object_type(type_):
        assert isinstance(type_, GraphQLInputObjectType)
        fields = (
            f"{name}: {_value(field.type)}" for name, field in type_.fields.items() if is_required_input_field(field)
        )
        return f"{{{', '.join(fields)}}}"
    return VALUES.get(get_named_type(type_).name, '"A"')


def document(name: str) -> str:
    field = MUTATIONS[name]
    required = {key: argument.type for key, argument in field.args.items() if is_required_argument(argument)}
    arguments = ", ".join(f"{key}: {_value(type_)}" for key, type_ in required.items())
    selection = " { __typename }" if is_object_type(get_named_type(field.type)) else ""
    variable = "($file: Upload!)" if "$file" in arguments else ""
    return f"mutation{variable} {{ {name}{f'({arguments})' if arguments else ''}{selection} }}"


@pytest.mark.parametrize(
    "caller",
    [
        "anonymous", *STOREFRONT_SCOPES, "customer", "vendor", "app without scopes", "app write_orders",
        "administrator without privileges", "administrator view_orders", "administrator manage_orders",
    ],
)  # fmt: skip
async def test_every_other_mutation_is_refused(caller: str, records: StoreRecords, execute_query: ExecuteQuery) -> None:
    scope = callers(records)[caller]
    expected = "UNAUTHENTICATED" if caller == "anonymous" else "FORBIDDEN"
    refused = [name for name in MUTATIONS if not is_allowed(access(name), scope)]
    answers = {name: (await execute_query(scope, document(name), file=FILE)).codes() for name in refused}
    assert {name: codes for name, codes in answers.items() if codes != [expected]} == {}
    assert len(refused) > 50


async def test_a_mutation_is_not_answered_with_a_refusal_after_its_commit(records: StoreRecords) -> None:
    """A caller who may change a record but not see it is answered null, so the field must be nullable."""
    for name, field in MUTATIONS.items():
        type_ = get_named_type(field.type)
        shown = access_of(type_) if is_object_type(type_) else None
        if shown is None or not isinstance(field.type, GraphQLNonNull):
            continue
        blind = [
            caller
            for caller, scope in callers(records).items()
            if is_allowed(access(name), scope) and not is_allowed(shown, scope)
        ]
        assert blind == [], name


async def test_a_change_of_a_record_that_the_caller_may_not_see_is_answered_null(sample: SampleStore) -> None:
    admin = await sample.client(await sample.add_user("manage_catalog"))
    text = "mutation ($id: ID!, $ids: [ID!]!) { product_required_products_set(id: $id, product_ids: $ids) { id } }"
    changed = await graphql_result(admin, text, id=sample.mug.id, ids=[sample.plate.id])
    assert changed is None
    assert await sample.value("SELECT count(*) FROM required_products WHERE product_id = $1", sample.mug.number) == 1


async def test_a_server_side_key_needs_the_privilege_to_place_orders(sample: SampleStore) -> None:
    """Its holder places orders for any customer."""
    text = "mutation ($side: Boolean) { storefront_key_create(input: {server_side: $side}) { key } }"
    statuses = {}
    for privileges in (("manage_apps",), ("manage_apps", "manage_orders")):
        admin = await sample.client(await sample.add_user(*privileges))
        for side in (False, True):
            answer = await admin.post("/graphql", {"query": text, "variables": {"side": side}})
            statuses[privileges, side] = [error["extensions"]["details"] for error in answer.body.get("errors", [])]
    assert list(statuses.values()) == [[], [{"required": "manage_orders"}], [], []]
