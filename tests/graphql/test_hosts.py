"""Hosts of a store: claimed, proved by a TXT record or a file at the host, made primary, redirected from and given up."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any
from uuid import uuid4

import dns.asyncresolver
import dns.flags
import dns.message
import dns.rcode
import dns.rrset
import pytest

from domain import hosts
from domain.outgoing import calls
from domain.outgoing.calls import OutgoingResponse, RequestFailed
from tests.harness.sample_store import SampleStore

FIELDS = "host verified_at is_primary is_redirected error proof { record_name url value }"
LIST = f"{{ store_hosts {{ {FIELDS} }} }}"
ADD = f"mutation($host: String!) {{ store_host_add(host: $host) {{ {FIELDS} }} }}"
VERIFY = f"mutation($host: String!) {{ store_host_verify(host: $host) {{ {FIELDS} }} }}"
REMOVE = f"mutation($host: String!) {{ store_host_remove(host: $host) {{ {FIELDS} }} }}"
UPDATE = f"mutation($host: String!, $input: StoreHostInput!) {{ store_host_update(host: $host, input: $input) {{ {FIELDS} }} }}"


class NameServer(asyncio.DatagramProtocol):
    """A name server that knows TXT records; other names don't exist. `is_silent`: it answers nothing."""

    def __init__(self) -> None:
        self.texts: dict[str, list[str]] = {}
        self.is_silent = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        if self.is_silent:
            return
        query = dns.message.from_wire(data)
        name = query.question[0].name
        response = dns.message.make_response(query)
        response.flags |= dns.flags.RA
        texts = self.texts.get(name.to_text(omit_final_dot=True))
        if texts is None:
            response.set_rcode(dns.rcode.NXDOMAIN)
        else:
            response.answer.append(dns.rrset.from_text_list(name, 60, "IN", "TXT", [f'"{text}"' for text in texts]))
        self.transport.sendto(response.to_wire(), addr)  # type: ignore[attr-defined]


@pytest.fixture
async def name_server(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[NameServer]:
    loop = asyncio.get_running_loop()
    transport, server = await loop.create_datagram_endpoint(NameServer, local_addr=("127.0.0.1", 0))
    resolver = dns.asyncresolver.Resolver(configure=False)
    resolver.nameservers, resolver.port = ["127.0.0.1"], transport.get_extra_info("sockname")[1]
    monkeypatch.setattr(dns.asyncresolver, "default_resolver", resolver)
    monkeypatch.setattr("domain.outgoing.txt_records.SECONDS", 0.3)
    yield server
    transport.close()


@pytest.fixture
def files() -> Iterator[dict[str, str]]:
    """The files of other servers by their URL; for other URLs there is no answer."""
    stored: dict[str, str] = {}

    async def send(method: str, url: str, headers: Mapping[str, str], body: bytes, **_: Any) -> OutgoingResponse:
        if url not in stored:
            raise RequestFailed("the connection was refused")
        return OutgoingResponse(200, {}, stored[url].encode())

    before = calls._caller, calls.allows_private()
    calls.configure(send)
    yield stored
    calls.configure(before[0], allows_private=before[1])


@pytest.fixture
def host() -> str:
    return f"{uuid4().hex[:12]}.example"


async def execute(sample: SampleStore, query: str, **variables: Any) -> Any:
    answer = await sample.post("/graphql", {"query": query, "variables": variables}, auth="bearer")
    if "errors" in answer.body:
        return answer.body["errors"][0]
    return next(iter(answer.body["data"].values()))


async def status_at(sample: SampleStore, host: str) -> int:
    """Return what a request with the host and the credential of the store's owner is answered with."""
    headers = {"Authorization": f"Bearer {await sample.token(sample.owner)}", "Host": host}
    async with sample.http.post("/graphql", json={"query": "{ store { id } }"}, headers=headers) as response:
        return response.status


async def eventually(sample: SampleStore, host: str, status: int) -> bool:
    """Return whether requests with the host are answered so within 5 seconds, as promised."""
    async with asyncio.timeout(5):
        while await status_at(sample, host) != status:
            await asyncio.sleep(0.05)
    return True


@contextlib.asynccontextmanager
async def claimed(sample: SampleStore, host: str) -> AsyncIterator[Any]:
    claim = await execute(sample, ADD, host=host)
    assert (claim["host"], claim["verified_at"], claim["error"]) == (host, None, None)
    assert claim["proof"]["record_name"] == f"_vitrine.{host}"
    assert claim["proof"]["url"] == f"https://{host}/.well-known/vitrine-store"
    yield claim["proof"]


async def test_a_host_is_the_stores_once_a_txt_record_proves_it(
    sample: SampleStore, name_server: NameServer, files: dict[str, str], host: str
) -> None:
    async with claimed(sample, host) as proof:
        assert await status_at(sample, host) == 404
        failure = await execute(sample, VERIFY, host=host)
        assert failure["extensions"]["details"]["reason"] == "host_not_verified"
        assert failure["message"] == (
            f"_vitrine.{host} has no TXT record; https://{host}/.well-known/vitrine-store: the connection was refused"
        )
        assert [entry["error"] for entry in await execute(sample, LIST) if entry["host"] == host] == [
            failure["message"]
        ]

        name_server.texts[f"_vitrine.{host}"] = ["something else", proof["value"]]
        verified = await execute(sample, VERIFY, host=host.upper())
        assert verified["host"] == host
        assert verified["verified_at"] is not None
        assert verified["proof"] is None
        assert await eventually(sample, host, 200)
        assert await execute(sample, VERIFY, host=host) == verified  # once more
        assert await execute(sample, ADD, host=host) == verified
        rows = await sample.rows("select action from audit_entries where action like 'store_host.%' order by id")
        assert [row["action"] for row in rows] == ["store_host.claimed", "store_host.verified"]


async def test_a_file_at_the_host_proves_it_too(
    sample: SampleStore, name_server: NameServer, files: dict[str, str], host: str
) -> None:
    async with claimed(sample, host) as proof:
        name_server.is_silent = True
        files[proof["url"]] = "another"
        failure = await execute(sample, VERIFY, host=host)
        assert "gave no answer for" in failure["message"]
        assert "is not the token" in failure["message"]
        files[proof["url"]] = f"{proof['value']}\n"
        assert (await execute(sample, VERIFY, host=host))["verified_at"] is not None


async def test_what_another_store_has_or_asks_for_is_no_obstacle_until_it_is_proved(
    sample: SampleStore, other_sample: SampleStore, name_server: NameServer, files: dict[str, str], host: str
) -> None:
    first, second = await execute(sample, ADD, host=host), await execute(other_sample, ADD, host=host)
    assert first["proof"]["value"] != second["proof"]["value"]
    name_server.texts[f"_vitrine.{host}"] = [second["proof"]["value"]]
    assert (await execute(sample, VERIFY, host=host))["extensions"]["details"]["reason"] == "host_not_verified"
    assert (await execute(other_sample, VERIFY, host=host))["verified_at"] is not None
    name_server.texts[f"_vitrine.{host}"] = [first["proof"]["value"]]
    refused = await execute(sample, VERIFY, host=host)
    assert (refused["message"], refused["extensions"]["details"]["reason"]) == (
        f"the address {host} is in use",
        "host_taken",
    )
    assert await eventually(sample, host, 403)  # the token is of another store


async def test_one_host_is_primary_and_others_can_be_redirected(sample: SampleStore, host: str) -> None:
    await hosts.add_host(sample.store.id, host)
    assert (await execute(sample, UPDATE, host=host, input={"is_primary": True}))["is_primary"] is True
    other = await execute(sample, UPDATE, host=sample.host, input={"is_redirected": True})
    assert (other["is_primary"], other["is_redirected"]) == (False, True)
    assert [entry["host"] for entry in await execute(sample, LIST)] == [host, sample.host]
    # The primary one is never redirected, and there is one.
    changed = await execute(sample, UPDATE, host=sample.host, input={"is_primary": True})
    assert (changed["is_primary"], changed["is_redirected"]) == (True, False)
    assert {entry["host"]: entry["is_primary"] for entry in await execute(sample, LIST)} == {
        sample.host: True,
        host: False,
    }
    entries = "select count(*) from audit_entries where action = 'store_host.updated'"
    before = await sample.rows(entries)
    for unchanged in ({}, {"is_primary": False}):
        assert (await execute(sample, UPDATE, host=host, input=unchanged))["is_primary"] is False
    assert await sample.rows(entries) == before


async def test_a_removed_host_finds_no_store(sample: SampleStore, host: str) -> None:
    await hosts.add_host(sample.store.id, host)
    assert await status_at(sample, host) == 200
    assert [entry["host"] for entry in await execute(sample, REMOVE, host=host)] == [sample.host]
    assert await eventually(sample, host, 404)
    await execute(sample, ADD, host=host)
    assert [entry["host"] for entry in await execute(sample, REMOVE, host=host)] == [sample.host]
    refused = await execute(sample, REMOVE, host=host)
    assert refused["extensions"]["code"] == "NOT_FOUND"


@pytest.mark.parametrize("mutation", [ADD, VERIFY, REMOVE])
@pytest.mark.parametrize("bad", ["", "with space", "a/b", "x" * 254, "http://shop.example"])
async def test_a_malformed_host_is_refused(shared_sample: SampleStore, mutation: str, bad: str) -> None:
    refused = await execute(shared_sample, mutation, host=bad)
    assert refused["extensions"]["code"] == "VALIDATION_FAILED"


async def test_hosts_of_others_are_absent(sample: SampleStore, other_sample: SampleStore) -> None:
    for mutation in (VERIFY, REMOVE, UPDATE):
        refused = await execute(sample, mutation, host=other_sample.host, input={"is_primary": True})
        assert refused["extensions"]["code"] == "NOT_FOUND", mutation
    assert await status_at(other_sample, other_sample.host) == 200


async def test_no_store_gets_a_shared_host_or_more_than_50(
    sample: SampleStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hosts, "_shared", hosts.SharedHosts(frozenset({"localhost"})))
    refused = await execute(sample, ADD, host="localhost")
    assert refused["extensions"]["details"]["reason"] == "host_shared"
    monkeypatch.setattr(hosts, "MAX_HOSTS", 2)
    assert (await execute(sample, ADD, host="one.example"))["host"] == "one.example"
    refused = await execute(sample, ADD, host="two.example")
    assert refused["extensions"]["details"]["reason"] == "too_many_hosts"
