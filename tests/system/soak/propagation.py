"""How long after its response a change shows at another process: revocations, privileges, settings and prices.

The change is sent to one group of web processes. A connection to another group, which keeps it at one of that group's processes, asks until
it sees the change; the time counts until that answer has arrived. Then the same without notifications.
"""

from __future__ import annotations

import asyncio
import itertools
import statistics
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from time import monotonic
from typing import Any

from tests.system.soak.calls import Answer, Client, open_session
from tests.system.soak.cluster import Cluster
from tests.system.soak.stores import PASSWORD, Store

SAMPLES = 100
LOST_SAMPLES = 4
# The promises (docs/deploy.md#several-machines): within 0.1 s, and 5 s where a notification is lost.
MAX_LOST_SECONDS = 5.0
_MAX_WAIT_SECONDS = 30.0
_FAMILY = "propagation"
_CLERK = "mutation ($input: UserInput!) { user_create(input: $input) { id } }"
_GRANT = "mutation ($id: ID!, $names: [String!]!) { user_set_privileges(id: $id, privileges: $names) { id } }"
_SET = "mutation ($settings: JSON!) { store_settings_update(settings: $settings) { id } }"
_SETTINGS = {"query": "{ store { settings } }"}

Headers = Mapping[str, str]


@dataclass(frozen=True)
class Sample:
    """A change, and whether an answer to a request shows it."""

    change: Callable[[], Awaitable[object]]
    path: str
    headers: Headers
    shows: Callable[[Answer], bool]
    body: Any = None


# Creates the sample of a number; what it needs exists then.
Kind = Callable[[int], Awaitable[Sample]]


async def measure_propagation(cluster: Cluster, client: Client, store: Store) -> list[str]:
    """Measure and return the lines of the report; report changes that took longer than promised when notifications are lost."""
    writer, reader = (client.at(url) for url in cluster.group_urls[:2])
    kinds = await _kinds(writer, store)
    numbers = itertools.count(1)
    usual = {
        name: [await _seconds(reader, store, await kind(next(numbers))) for _ in range(SAMPLES)]
        for name, kind in kinds.items()
    }
    lost: dict[str, list[float]] = {name: [] for name in kinds}
    for _ in range(LOST_SAMPLES):
        samples = [await kind(next(numbers)) for kind in kinds.values()]
        cluster.proxy.silence_notifications()
        seconds = await asyncio.gather(*(_seconds(reader, store, sample) for sample in samples))
        cluster.proxy.restore()
        for name, each in zip(kinds, seconds, strict=True):
            lost[name].append(each)
        await _until_heard(reader, store, kinds["price"], numbers)
    for name, values in lost.items():
        if max(values) > MAX_LOST_SECONDS:
            text = f"{name}: shown {max(values):.1f} s after the change, without a notification, expected {MAX_LOST_SECONDS:.0f} s"
            client.world.findings.add("propagation", text)
    return [
        "  until another process shows a change (ms)   median      p99   without notification (longest, s)",
        *(_line(name, usual[name], lost[name]) for name in kinds),
    ]


def _line(name: str, usual: Sequence[float], lost: Sequence[float]) -> str:
    p99 = statistics.quantiles(usual, n=100)[98]
    return f"  {name:<43} {statistics.median(usual) * 1000:>6.0f} {p99 * 1000:>8.0f} {max(lost):>35.1f}"


async def _kinds(writer: Client, store: Store) -> dict[str, Kind]:
    owner = await store.owner(writer)
    clerk = f"{store.model.marker}-clerk@example.com"
    user = {"email": clerk, "password": PASSWORD, "role": "admin", "firstname": store.model.marker}
    created = await _graphql(writer, store, owner, _CLERK, {"input": user})
    clerk_id = created.body["data"]["user_create"]["id"]
    clerk_token = await _sign_in(writer, store, clerk)

    async def revocation(_: int) -> Sample:
        body = await _sign_in(writer, store, store.customer_email)
        token = {"refresh_token": body["refresh_token"]}

        async def sign_out() -> None:
            await writer.settle(store.model, _FAMILY, "POST", "/api/v1/auth/logout", token, headers={})

        return Sample(sign_out, "/api/v1/auth/me", _bearer(body), lambda answer: answer.status == 401)

    async def privilege(number: int) -> Sample:
        names, status = (["view_orders"], 200) if number % 2 else ([], 403)

        async def grant() -> None:
            await _graphql(writer, store, owner, _GRANT, {"id": clerk_id, "names": names})

        return Sample(grant, "/api/v1/admin/orders", _bearer(clerk_token), lambda answer: answer.status == status)

    async def setting(number: int) -> Sample:
        value = f"https://shop.example/{number}"

        async def change() -> None:
            await _graphql(writer, store, owner, _SET, {"settings": {"account_url": value}})

        def shows(answer: Answer) -> bool:
            return bool(answer.body["data"]["store"]["settings"]["account_url"] == value)

        return Sample(change, "/graphql", owner, shows, _SETTINGS)

    async def price(number: int) -> Sample:
        assert store.probe is not None
        path, cents = f"products/{store.probe.id}", 1_000 + number

        async def change() -> None:
            body = {"price_cents": cents}
            await writer.settle(store.model, _FAMILY, "PUT", f"/api/admin/{path}", body, headers=store.app)

        return Sample(
            change, f"/api/v1/storefront/{path}", store.key, lambda answer: bool(answer.body["price_cents"] == cents)
        )

    return {"revocation": revocation, "privilege": privilege, "setting": setting, "price": price}


async def _seconds(reader: Client, store: Store, sample: Sample) -> float:
    """Make the change and return the seconds until a process of the other group has shown it."""
    async with open_session() as session:
        client = reader.on(session)

        async def shows() -> bool:
            method = "GET" if sample.body is None else "POST"
            arguments = (store.model, _FAMILY, method, sample.path, sample.body)
            return sample.shows(await client.settle(*arguments, headers=sample.headers, expected=(200, 401, 403)))

        await shows()  # what is remembered there precedes the change
        await sample.change()
        changed_at = monotonic()
        while not await shows() and monotonic() - changed_at < _MAX_WAIT_SECONDS:
            await asyncio.sleep(0)
        return monotonic() - changed_at


async def _until_heard(reader: Client, store: Store, kind: Kind, numbers: itertools.count[int]) -> None:
    """Wait until a change shows at once again."""
    for _ in range(100):
        if await _seconds(reader, store, await kind(next(numbers))) < 1:
            return


async def _graphql(client: Client, store: Store, headers: Headers, document: str, variables: Any) -> Answer:
    body = {"query": document, "variables": variables}
    return await client.settle(store.model, _FAMILY, "POST", "/graphql", body, headers=headers)


async def _sign_in(client: Client, store: Store, email: str) -> Any:
    body = {"email": email, "password": PASSWORD}
    return (await client.settle(store.model, _FAMILY, "POST", "/api/v1/auth/login", body, headers={})).body


def _bearer(signed_in: Any) -> Headers:
    return {"Authorization": f"Bearer {signed_in['access_token']}"}
