"""Apps with tokens and storefronts with keys access exactly the fields whose access rules allow them, over HTTP."""

from __future__ import annotations

from typing import Any

import pytest
from graphql import (
    GraphQLArgument,
    GraphQLEnumType,
    GraphQLInputObjectType,
    GraphQLObjectType,
    get_named_type,
    get_nullable_type,
    is_composite_type,
    is_input_object_type,
    is_list_type,
    is_non_null_type,
)

from auth.access import Access
from auth.app_tokens import issue_app_tokens
from auth.storefront_keys import create_storefront_key
from kernel.scope import Actor, ActorKind
from models.connection import database
from models.tables.apps import AppGrant
from models.tables.catalog import Category
from resolvers import root
from schema.fields import ACCESS, strawberry_field
from tests.graphql.conftest import SCOPES, add_installed_app
from tests.harness.sample_store import SampleStore
from tests.harness.scopes import is_allowed

SCHEMA = root.public_schema()
ROOTS = [
    (operation, name)
    for operation, type_ in (("query", SCHEMA.query_type), ("mutation", SCHEMA.mutation_type))
    if type_ is not None
    for name in type_.fields
]
STOREFRONT = frozenset({"storefront:read", "storefront:cart", "storefront:checkout"})
# The kind of actor and the scopes of its credential.
CLIENTS = {
    "app": (ActorKind.APP, SCOPES),
    "app that may read orders": (ActorKind.APP, frozenset({"read_orders"})),
    "key": (ActorKind.STOREFRONT, STOREFRONT),
    "key for carts": (ActorKind.STOREFRONT, frozenset({"storefront:cart"})),
}


def _type(operation: str) -> GraphQLObjectType:
    type_ = SCHEMA.query_type if operation == "query" else SCHEMA.mutation_type
    assert type_ is not None
    return type_


def _access(operation: str, name: str) -> Access:
    declared = strawberry_field(_type(operation).fields[name])
    assert declared is not None
    access: Access = declared.metadata[ACCESS]
    return access


def _sample_literal(type_: Any) -> str:
    """Return a well-formed sample literal of an input type."""
    nullable = get_nullable_type(type_)
    if is_list_type(nullable):
        return "[]"
    named = get_named_type(nullable)
    if is_input_object_type(named):
        assert isinstance(named, GraphQLInputObjectType)
        required = {name: field.type for name, field in named.fields.items() if is_non_null_type(field.type)}
        return "{" + ", ".join(f"{name}: {_sample_literal(field_type)}" for name, field_type in required.items()) + "}"
    if isinstance(named, GraphQLEnumType):
        return next(iter(named.values))
    return {"Int": "1", "BigInt": "1", "Float": "1", "Boolean": "true", "Json": "{}", "DateTime": '"2026-01-01T00:00:00Z"'}.get(
        named.name, '"A"'
    )  # fmt: skip


def _document(operation: str, name: str) -> str:
    field = _type(operation).fields[name]
    arguments: dict[str, GraphQLArgument] = {
        key: argument for key, argument in field.args.items() if is_non_null_type(argument.type)
    }
    arguments_text = ", ".join(
        f"{key}: {_sample_literal(argument.type)}"
        for key, argument in arguments.items()
        if argument.default_value is None or not isinstance(argument.default_value, str | int | bool | list)
    )
    below = " { __typename }" if is_composite_type(get_named_type(field.type)) else ""
    return f"{operation} {{ {name}{f'({arguments_text})' if arguments_text else ''}{below} }}"


async def _header(sample: SampleStore, kind: ActorKind, scopes: frozenset[str]) -> dict[str, str]:
    scope = sample.scope
    async with database.transaction(scope):
        if kind is ActorKind.STOREFRONT:
            return {"X-API-Key": (await create_storefront_key(scope, {"scopes": list(scopes)})).key}
        installation = await add_installed_app(scope)
        installation.scopes = list(scopes)
        await installation.save()
        grant = await AppGrant.create(
            installation_id=installation.id,
            code_hash=b"x" * 32,
            redirect_uri="https://app.example/",
            scopes=list(scopes),
            code_expires_at=scope.now,
            exchanged_at=scope.now,
        )
        tokens = await issue_app_tokens(scope, grant.id, "live", scopes, scopes)
        return {"Authorization": f"Bearer {tokens.access_token}"}


@pytest.mark.parametrize("program", CLIENTS)
async def test_a_client_can_access_exactly_the_fields_that_allow_it(program: str, sample: SampleStore) -> None:
    kind, scopes = CLIENTS[program]
    headers = await _header(sample, kind, scopes)
    await sample.execute("update app_installations set rate_limit = 100000")
    anonymous_scope = sample.as_anonymous(family="system")
    as_client = type(anonymous_scope)(
        anonymous_scope.store,
        Actor(kind, scopes=scopes),
        anonymous_scope.request_id,
        anonymous_scope.now,
        family="graphql",
    )
    open_fields, wrong = [], []
    for operation, name in ROOTS:
        is_open = is_allowed(_access(operation, name), as_client)
        # Effects of mutations have their own tests, as has what a multipart request sends (tests/media).
        if (is_open and operation == "mutation") or name in ("media_upload", "cart_file_upload"):
            continue
        answer = await sample.post("/graphql", {"query": _document(operation, name)}, auth=None, headers=headers)
        assert answer.status == 200, (name, answer)
        codes = {error["extensions"]["code"] for error in answer.body.get("errors", ())}
        if is_open:
            open_fields.append(name)
        if (not is_open and codes != {"FORBIDDEN"}) or (is_open and "FORBIDDEN" in codes):
            wrong.append((name, is_open, answer.body))
    assert wrong == []
    assert open_fields


async def test_apps_and_keys_cannot_administer_accounts_and_apps() -> None:
    """Detects a field without `user_only` by name (docs/reference/graphql.md#access)."""
    for operation, name in ROOTS:
        if name in root.fields_without_credential():
            continue  # authenticated by their arguments: they don't act for the caller
        if name.startswith("app_call"):
            continue  # an app's own log and addresses, as its webhook endpoints
        if name.startswith(
            ("two_factor_", "app_", "api_key", "session", "sign_out", "storefront_key", "installed_app")
        ):
            access = _access(operation, name)
            assert access.user_only, name
            assert access.app_scope is None, name
            assert access.storefront is None, name


async def test_a_storefront_key_reads_only_active_records(sample: SampleStore) -> None:
    """No list available to a key contains a disabled record."""
    hidden = {
        (await sample.add_product(name="Rascunho", status="D")).id,
        (await sample.add(Category, name="Oculta", status="D")).id,
    }
    key = await _header(sample, ActorKind.STOREFRONT, STOREFRONT)
    query = "{ products(limit: 100) { id status } categories(limit: 100) { id status } product_page { total } }"
    answer = await sample.post("/graphql", {"query": query}, auth=None, headers=key)
    assert "errors" not in answer.body
    data = answer.body["data"]
    records = [row for name in ("products", "categories") for row in data[name]]
    assert {row["status"] for row in records} == {"A"}
    assert hidden.isdisjoint(row["id"] for row in records)
    assert data["product_page"]["total"] == len(data["products"]) > 0
