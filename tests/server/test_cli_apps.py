"""The operator registers apps and makes storefront keys."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from auth.apps import find_app, signing_secret, verify_client
from auth.configuration import configure
from auth.installations import approve
from auth.schemes import authenticate
from kernel.scope import Store, entered
from server import operating
from tests.server.commanding import SECRET, Vitrine

pytestmark = pytest.mark.usefixtures("database")
REDIRECT = "https://app.example/callback"


@pytest.fixture(autouse=True, scope="module")
def secret():
    configure(SECRET.encode())


@pytest.fixture
def vitrine(tmp_path: Path, database_url: str) -> Vitrine:
    return Vitrine(tmp_path, DATABASE_URL=database_url)


async def test_an_app_of_the_operator_is_installed_in_any_store(vitrine, store, other_store):
    made = vitrine(
        "app", "create", "Etiquetas", "--redirect-uri", REDIRECT, "--redirect-uri", "http://localhost:1/",
        "--scopes", "write_orders, read_orders,read_products", "--mode", "test", "--json",
    ).json  # fmt: skip
    assert set(made) == {"id", "name", "client_id", "client_secret", "redirect_uris", "scopes", "mode"}
    assert (made["scopes"], made["mode"]) == (["read_orders", "read_products", "write_orders"], "test")
    assert made["redirect_uris"] == [REDIRECT, "http://localhost:1/"]
    for each in (store, other_store):
        scope = operating.system_scope(each)
        with entered(scope):
            app = await verify_client(made["client_id"], made["client_secret"])
            assert app is not None
            assert await verify_client(made["client_id"], made["client_secret"] + "x") is None
            assert await signing_secret(app.number) == made["client_secret"]
            approval = await approve(scope, made["client_id"], ["read_orders"], REDIRECT)
            assert approval.redirect_to == f"{REDIRECT}?code={approval.code}"


async def test_an_app_is_shown_to_people(vitrine, store):
    said = vitrine("app", "create", "Etiquetas", "--redirect-uri", REDIRECT, "--scopes", "all").out
    assert "The secret is shown this once." in said
    client_id = next(line.split()[-1] for line in said.splitlines() if line.startswith("client_id"))
    with entered(operating.system_scope(store)):
        app = await find_app(client_id)
    assert app is not None
    assert len(app.scopes) == 14


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
            ("x", "--redirect-uri", REDIRECT, "--scopes", "fly"),
            "scopes holds 'fly'; expected any of read_categories,",
        ),
    ],
)
async def test_a_wrong_app_is_refused_in_one_line(vitrine, arguments, line):
    assert vitrine("app", "create", *arguments).refusal.startswith(line)


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


async def test_a_storefront_key_is_made_for_a_store(vitrine, store):
    made = vitrine("storefront-key", "create", "--tenant", str(store.public_id), "--json").json
    actor = await actor_of(store, made["storefront_key"])
    assert (
        actor.scopes == {"storefront:read", "storefront:cart", "storefront:checkout"} == set(made["scopes"])
    )
    assert (actor.rate_limit, actor.server_side) == (600, False)
    made = vitrine(
        "storefront-key", "create", "--tenant", str(store.public_id), "--scopes", "storefront:read", "--rate-limit",
        "30", "--server-side", "--json",
    ).json  # fmt: skip
    actor = await actor_of(store, made["storefront_key"])
    assert (actor.scopes, actor.rate_limit, actor.server_side) == ({"storefront:read"}, 30, True)
    said = vitrine("storefront-key", "create", "--tenant", str(store.public_id)).out
    assert "The key is shown this once." in said


async def test_a_wrong_storefront_key_is_refused_in_one_line(vitrine, store):
    command = ("storefront-key", "create", "--tenant")
    assert vitrine(*command, "nowhere.example").refusal.startswith("there is no such store")
    here = str(store.public_id)
    assert vitrine(*command, here, "--rate-limit", "0").refusal == (
        "rate_limit is 0; expected a whole number from 1 to 100000"
    )
    assert vitrine(*command, here, "--scopes", "fly").refusal.startswith(
        "scopes holds 'fly'; expected any of"
    )
