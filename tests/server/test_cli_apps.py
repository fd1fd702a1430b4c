"""Register apps and create storefront keys on the command line."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

import pytest

from auth.configuration import configure
from auth.schemes import authenticate
from domain.apps.installations import approve_app
from domain.apps.registration import authenticate_client, find_app, register_app
from kernel.scope import Store, active_scope
from models.connection import database
from server.example_storefront import KEY_NAME
from server.operations import store_admin
from tests.harness.oauth import signing_secret
from tests.harness.packages import EXAMPLE
from tests.server.command_line import SECRET, Vitrine

pytestmark = pytest.mark.usefixtures("database")
REDIRECT = "https://app.example/callback"


@pytest.fixture(autouse=True, scope="module")
def secret():
    configure(SECRET.encode())


@pytest.fixture
def vitrine(tmp_path: Path, database_url: str) -> Vitrine:
    return Vitrine(tmp_path, DATABASE_URL=database_url)


async def test_a_platform_app_can_be_installed_in_any_store(vitrine, store, other_store):
    created = vitrine(
        "app", "create", "Etiquetas", "--redirect-uri", REDIRECT, "--redirect-uri", "http://localhost:1/",
        "--scopes", "write_orders, read_orders,read_products", "--mode", "test", "--json",
    ).json  # fmt: skip
    assert set(created) == {"id", "name", "client_id", "client_secret", "redirect_uris", "scopes", "mode"}
    assert (created["scopes"], created["mode"]) == (["read_orders", "read_products", "write_orders"], "test")
    assert created["redirect_uris"] == [REDIRECT, "http://localhost:1/"]
    for target_store in (store, other_store):
        scope = store_admin.system_scope(target_store)
        with active_scope(scope):
            app = await authenticate_client(created["client_id"], created["client_secret"])
            assert app is not None, target_store
            assert await authenticate_client(created["client_id"], created["client_secret"] + "x") is None, target_store
            assert await signing_secret(app.number) == created["client_secret"], target_store
            approval = await approve_app(scope, created["client_id"], ["read_orders"], REDIRECT)
            assert approval.redirect_to == f"{REDIRECT}?code={approval.code}", target_store


async def test_the_operator_lists_and_shows_apps_and_resets_their_secrets(vitrine, store):
    created = vitrine(
        "app", "create", "Etiquetas", "--redirect-uri", REDIRECT, "--scopes", "read_orders", "--json"
    ).json
    client_id = created["client_id"]
    (listed,) = [app for app in vitrine("app", "list", "--json").json if app["client_id"] == client_id]
    assert (listed["name"], listed["scopes"], "client_secret" in listed) == ("Etiquetas", ["read_orders"], False)
    assert client_id in vitrine("app", "list").out
    assert vitrine("app", "show", client_id, "--json").json == listed
    changed = vitrine("app", "reset-secret", client_id, "--json").json
    with active_scope(store_admin.system_scope(store)):
        assert await authenticate_client(client_id, created["client_secret"]) is None
        assert await authenticate_client(client_id, changed["client_secret"]) is not None
    assert vitrine("app", "show", "vci_x").error_line == "there is no app vci_x; list them with vitrine app list"
    for unknown in ("vci_x", "vci_\udcff", ""):
        assert vitrine("app", "reset-secret", unknown).error_line == "app not found", unknown
        assert "there is no app" in vitrine("app", "show", unknown).error_line, unknown


async def test_a_store_sees_that_the_operator_has_reset_the_secret_of_its_app(vitrine, store):
    values = {"name": "Etiquetas", "redirect_uris": [REDIRECT], "scopes": ["read_orders"]}
    with active_scope(store_admin.system_scope(store)):
        app = await register_app(store_admin.system_scope(store), values)
    assert vitrine("app", "reset-secret", app.client_id).code == 0
    with active_scope(store_admin.system_scope(store)):
        rows = await database.fetch(
            "select action, subject_id from audit_entries where action like 'app.%' order by id"
        )
    assert [tuple(row) for row in rows] == [("app.registered", str(app.id)), ("app.secret_reset", str(app.id))]


async def test_an_app_is_printed_as_text(vitrine, store):
    output = vitrine(
        "app",
        "create",
        "Etiquetas",
        "--redirect-uri",
        REDIRECT,
        "--scopes",
        "all",
        "--call-url",
        f"payments={REDIRECT}",
    ).out
    assert "The secret is shown only once." in output
    client_id = next(line.split()[-1] for line in output.splitlines() if line.startswith("client_id"))
    with active_scope(store_admin.system_scope(store)):
        app = await find_app(client_id)
    assert app is not None
    assert len(app.scopes) == 17
    assert app.call_urls == {"payments": REDIRECT, "shipping_rates": None}


@pytest.mark.parametrize(
    "arguments,line",
    [
        (("", "--redirect-uri", REDIRECT, "--scopes", "all"), "name is required"),
        (
            ("x", "--redirect-uri", "http://app.example/", "--scopes", "all"),
            "redirect_uris holds 'http://app.example/'; expected https, or http on this machine (localhost)",
        ),
        (("x", "--redirect-uri", REDIRECT, "--scopes", ""), "scopes is empty; expected at least one scope"),
        (
            ("x", "--redirect-uri", REDIRECT, "--scopes", "all", "--call-url", "payments=ftp://10.0.0.1/"),
            "call_urls of payments is 'ftp://10.0.0.1/'; expected an address that begins with https://",
        ),
        (
            ("x", "--redirect-uri", REDIRECT, "--scopes", "all", "--call-url", "refunds=https://app.example/"),
            "call_urls names 'refunds'; expected any of payments, shipping_rates",
        ),
        (
            ("x", "--redirect-uri", REDIRECT, "--scopes", "fly"),
            "scopes holds 'fly'; expected any of handle_payments,",
        ),
    ],
)
async def test_an_invalid_app_is_rejected_in_one_line(vitrine, arguments, line):
    assert vitrine("app", "create", *arguments).error_line.startswith(line)


async def actor_of(store: Store, key: str):
    return await authenticate(
        store,
        "graphql",
        {"X-API-Key": key},
        now=datetime.now(UTC),
        client_ip="192.0.2.7",
        request_id="test",
        family="graphql",
    )


async def test_a_storefront_key_is_created_for_a_store(vitrine, store):
    created = vitrine("storefront-key", "create", "--tenant", str(store.public_id), "--json").json
    actor = await actor_of(store, created["storefront_key"])
    assert actor.scopes == {"storefront:read", "storefront:cart", "storefront:checkout"} == set(created["scopes"])
    assert (actor.rate_limit, actor.rate_limit_per_address, actor.server_side) == (60_000, 1_200, False)
    assert (created["rate_limit"], created["per_address"]) == (60_000, 1_200)
    created = vitrine(
        "storefront-key", "create", "--tenant", str(store.public_id), "--scopes", "storefront:read", "--rate-limit",
        "30", "--per-address", "0", "--server-side", "--json",
    ).json  # fmt: skip
    actor = await actor_of(store, created["storefront_key"])
    assert (actor.scopes, actor.rate_limit, actor.server_side) == ({"storefront:read"}, 30, True)
    assert actor.rate_limit_per_address == created["per_address"] == 0
    output = vitrine("storefront-key", "create", "--tenant", str(store.public_id)).out
    assert "The key is shown only once." in output


async def test_an_invalid_storefront_key_is_rejected_in_one_line(vitrine, store):
    command = ("storefront-key", "create", "--tenant")
    assert vitrine(*command, "nowhere.example").error_line.startswith("store not found")
    here = str(store.public_id)
    assert vitrine(*command, here, "--rate-limit", "0").error_line == (
        "rate_limit is 0; expected a whole number from 1 to 100000"
    )
    assert vitrine(*command, here, "--scopes", "fly").error_line.startswith("scopes holds 'fly'; expected any of")


async def test_documents_of_a_manifest_are_pushed_for_a_key(vitrine, store, tmp_path):
    query = "{ store { name } }"
    manifest = tmp_path / "documents.json"
    manifest.write_text(json.dumps({sha256(query.encode()).hexdigest(): query}))
    vitrine("storefront-key", "create", "--tenant", str(store.public_id), "--name", "Loja")
    push = ("documents", "push", str(manifest), "--tenant", str(store.public_id), "--key", "Loja")
    assert vitrine(*push, "--json").json == {"pushed": 1, "documents": 1, "trusted_documents_only": False}
    assert "1 documents pushed; 1 are registered, nothing else is accepted" in vitrine(*push, "--only").out
    assert "other documents are accepted too" in vitrine(*push, "--accept-others", "--replace").out
    other = (*push[:-1], "Outra")
    assert vitrine(*other).error_line == "0 storefront keys have the UUID or name Outra; expected one"
    manifest.write_text(json.dumps({sha256(b"{ nothing }").hexdigest(): "{ nothing }"}))
    assert "Cannot query field 'nothing'" in vitrine(*push).error_line
    manifest.write_text(json.dumps({"0" * 40: query}))
    assert "is not the SHA-256 of its document" in vitrine(*push).error_line
    endless = vitrine("documents", "push", "/dev/zero", *push[3:]).error_line
    assert endless == "/dev/zero has more than 16,000,000 characters; expected a manifest"


async def test_the_documents_of_the_example_storefront_are_pushed(vitrine, store):
    manifest = EXAMPLE.sources / "documents.json"
    vitrine("storefront-key", "create", "--tenant", str(store.public_id), "--name", KEY_NAME)
    push = ("documents", "push", str(manifest), "--tenant", str(store.public_id), "--key", KEY_NAME)
    pushed = vitrine(*push, "--only", "--json").json
    assert pushed["trusted_documents_only"]
    assert pushed["documents"] == len(json.loads(manifest.read_bytes())) > 50
