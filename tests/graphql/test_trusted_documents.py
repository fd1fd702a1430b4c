"""A storefront key that accepts its trusted documents only executes and parses no other one; they are never evicted."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import aiohttp
import pytest

from auth.storefront_keys import create_storefront_key
from domain.apps.trusted_documents import MAX_DOCUMENTS, read_manifest
from kernel.scope import active_scope
from tests.harness.clients import NewApp, NewClient
from tests.harness.http import Client
from tests.harness.scopes import rows, system_scope

TRUSTED = "query Trusted { store { name } }"
OTHER = "query Other { store { currency } }"
BROKEN = "query Broken {{{"
SET = """mutation ($documents: [String!]!, $key: ID, $keep: Boolean!, $only: Boolean) {
  trusted_documents_set(documents: $documents, storefront_key_id: $key, keep_others: $keep, trusted_documents_only: $only) {
    count characters trusted_documents_only
  }
}"""


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


async def set_documents(
    client: Client, *texts: str, key: str | None = None, keep: bool = False, only: bool | None = None
) -> Any:
    variables = {"documents": list(texts), "key": key, "keep": keep, "only": only}
    return (await client.post("/graphql", {"query": SET, "variables": variables})).body


async def new_key(admin: Client) -> tuple[str, Client]:
    """Return the id of a new key, and a client with it."""
    scope = system_scope(admin.store)
    with active_scope(scope):
        made = await create_storefront_key(scope, {})
    return str(made.id), Client(admin.http, admin.store, {"X-API-Key": made.key})


@pytest.fixture
async def restricted(admin: Client) -> Client:
    """Return a client whose key accepts `TRUSTED` only."""
    key, client = await new_key(admin)
    answer = await set_documents(admin, TRUSTED, key=key, only=True)
    assert answer["data"]["trusted_documents_set"] == {
        "count": 1,
        "characters": len(TRUSTED),
        "trusted_documents_only": True,
    }
    return client


def is_refused(answer: Any) -> bool:
    """Return whether the document was refused for not being trusted, which also a broken one is: it wasn't parsed."""
    return [error["extensions"]["details"]["reason"] for error in answer["errors"]] == ["document_not_trusted"]


def apollo(text: str) -> dict[str, Any]:
    return {"persistedQuery": {"version": 1, "sha256Hash": sha256(text)}}


async def test_a_trusted_document_is_executed_by_its_id_and_by_its_text(restricted: Client) -> None:
    id_ = f"sha256:{sha256(TRUSTED)}"
    for body in (
        {"documentId": id_},
        {"query": TRUSTED},
        {"extensions": apollo(TRUSTED)},
        {"query": TRUSTED, "extensions": apollo(TRUSTED)},
    ):
        answer = await restricted.post("/graphql", body)
        assert answer.body["data"]["store"]["name"], body
    answer = await restricted.get(f"/graphql?documentId={id_}")
    assert answer.body["data"]["store"]["name"]


@pytest.mark.parametrize("text", [OTHER, BROKEN])
async def test_no_other_document_reaches_the_parser(
    new_client: NewClient, restricted: Client, admin: Client, text: str
) -> None:
    # Known to the process and to the store: another key has executed and persisted it.
    _, unrestricted = await new_key(admin)
    bodies: list[dict[str, Any]] = [
        {"query": text},
        {"query": text, "extensions": apollo(text)},
        {"query": text, "documentId": f"sha256:{sha256(text)}"},
    ]
    for body in bodies:
        answer = await unrestricted.post("/graphql", body)
        assert b"document_not_trusted" not in answer.raw, body
    bodies += [{"documentId": f"sha256:{sha256(text)}"}, {"extensions": apollo(text)}, {"documentId": "x"}]
    customer = (await new_client(user_type="C")).credentials
    for headers in ({}, customer, {"Accept": "text/event-stream"}):
        for body in bodies:
            answer = await restricted.post("/graphql", body, headers=headers)
            if "Accept" in headers:
                assert b"document_not_trusted" in answer.raw, (headers, body)
            else:
                assert is_refused(answer.body), (headers, body)
    answer = await restricted.get("/graphql", params={"query": text})
    assert is_refused(answer.body)
    answer = await restricted.post("/graphql", {"query": text}, headers={"Accept": "application/graphql-response+json"})
    assert answer.status == 403


async def test_a_websocket_accepts_trusted_documents_only(restricted: Client) -> None:
    url = restricted.http.make_url("/graphql")
    headers = {"X-Tenant-ID": str(restricted.store.public_id)}
    async with (
        aiohttp.ClientSession() as session,
        session.ws_connect(url, protocols=("graphql-transport-ws",), headers=headers) as socket,
    ):
        await socket.send_json({"type": "connection_init", "payload": restricted.credentials})
        assert (await socket.receive_json())["type"] == "connection_ack"
        for id_, query in (("1", BROKEN), ("2", TRUSTED)):
            await socket.send_json({"type": "subscribe", "id": id_, "payload": {"query": query}})
        answers = [await socket.receive_json() for _ in range(3)]
    refused = next(answer for answer in answers if answer["type"] == "error")
    assert is_refused({"errors": refused["payload"]})
    assert next(answer for answer in answers if answer["type"] == "next")["payload"]["data"]["store"]["name"]


async def test_documents_are_replaced_or_kept_and_the_key_accepts_others_again(admin: Client) -> None:
    key, client = await new_key(admin)
    await set_documents(admin, TRUSTED, key=key, only=True)
    assert is_refused((await client.post("/graphql", {"query": OTHER})).body)
    await set_documents(admin, OTHER, key=key, keep=True)
    for text in (TRUSTED, OTHER):
        assert "data" in (await client.post("/graphql", {"query": text})).body, text
    await set_documents(admin, OTHER, key=key)
    assert is_refused((await client.post("/graphql", {"query": TRUSTED})).body)
    assert "data" in (await client.post("/graphql", {"query": OTHER})).body
    await set_documents(admin, key=key, only=False)
    assert "data" in (await client.post("/graphql", {"query": TRUSTED})).body


async def test_an_app_registers_its_own_documents(new_app: NewApp, admin: Client) -> None:
    app = await new_app("read_products")
    assert (await set_documents(app, TRUSTED))["data"]["trusted_documents_set"]["count"] == 1
    answer = await app.post("/graphql", {"documentId": f"sha256:{sha256(TRUSTED)}"})
    assert "PERSISTED_DOCUMENT_NOT_FOUND" not in str(answer.body)
    answer = await admin.post("/graphql", {"documentId": f"sha256:{sha256(TRUSTED)}"})
    assert answer.body["errors"][0]["extensions"]["code"] == "PERSISTED_DOCUMENT_NOT_FOUND"
    key, client = await new_key(admin)
    for caller, named in ((app, key), (client, key)):
        assert (await set_documents(caller, TRUSTED, key=named))["errors"][0]["extensions"]["code"] == "FORBIDDEN", (
            caller
        )


async def test_number_and_size_are_limited(admin: Client) -> None:
    key, _ = await new_key(admin)
    many = [f"query Q{number} {{ store {{ name }} }}" for number in range(MAX_DOCUMENTS)]
    assert (await set_documents(admin, *many, key=key))["data"]["trusted_documents_set"]["count"] == MAX_DOCUMENTS
    for texts in ([*many, OTHER], [""], ["x" * 100_001]):
        answer = await set_documents(admin, *texts, key=key)
        assert answer["errors"][0]["extensions"]["field"] == "documents", len(texts)
    assert (await set_documents(admin, OTHER, key=key, keep=True))["errors"][0]["extensions"]["field"] == "documents"
    assert len(await rows(admin.store, "select 1 from trusted_documents")) == MAX_DOCUMENTS


def test_manifests_of_the_usual_tools_are_read() -> None:
    hashed = {sha256(text): text for text in (TRUSTED, OTHER)}
    apollo_manifest = {
        "format": "apollo-persisted-query-manifest",
        "version": 1,
        "operations": [{"id": key, "name": "x", "type": "query", "body": text} for key, text in hashed.items()],
    }
    assert read_manifest(json.loads(json.dumps(hashed))) == read_manifest(apollo_manifest) == [TRUSTED, OTHER]


@pytest.mark.parametrize("content", [[], "x", {"a" * 40: TRUSTED}, {"operations": [TRUSTED]}, {sha256(TRUSTED): 1}])
def test_another_manifest_is_refused(content: Any) -> None:
    with pytest.raises(ValueError, match=r"manifest|SHA-256"):
        read_manifest(content)
