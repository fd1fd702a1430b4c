"""GraphQL subscriptions to events over Server-Sent Events (graphql-sse) and WebSockets (graphql-transport-ws)."""

from __future__ import annotations

import asyncio
import gc
import json
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from socket import AF_INET, SHUT_RDWR, SOCK_STREAM, fromfd
from typing import Any

import pytest
from aiohttp import WSMsgType

from kernel.settings import Settings
from kernel.work_queues import PYTHON_WORK
from server.http import event_streams, event_tails, graphql_sockets
from tests.events.kit import Messages, read_all
from tests.harness import scopes
from tests.harness.http import Client
from tests.harness.oauth import graphql_result
from tests.webhooks.kit import emit_events

EVENTS = "subscription ($after: String, $types: [String!]) { events(after: $after, types: $types) { id event cursor } }"


@pytest.fixture
def fast_heartbeat(monkeypatch):
    monkeypatch.setattr(event_streams, "HEARTBEAT_SECONDS", 0.1)


def headers_of(client: Client) -> dict[str, str]:
    return {"X-Tenant-ID": str(client.store.public_id), "X-Forwarded-For": client.ip, **client.credentials}


# --- Server-Sent Events ------------------------------------------------------------------------------------------------------


@asynccontextmanager
async def sse(client: Client, query: str, **variables: Any) -> AsyncIterator[Messages]:
    headers = {**headers_of(client), "Accept": "text/event-stream"}
    async with client.http.post("/graphql", headers=headers, json={"query": query, "variables": variables}) as response:
        assert response.status == 200, await response.read()
        assert response.headers["Content-Type"] == "text/event-stream"
        yield Messages(response)


async def test_a_subscription_sends_the_selection_of_each_event(app, store):
    async with sse(app, EVENTS) as stream:
        ids = await emit_events(store, times=3)
        results = await stream.take(3)
    assert [result["data"]["events"]["id"] for result in results] == [f"evt_{id_.hex}" for id_ in ids]


async def test_a_subscription_continues_after_a_cursor(app, store):
    await emit_events(store, times=3)
    events = await read_all(app)
    async with sse(app, EVENTS, after=events[0]["cursor"]) as stream:
        received = [result["data"]["events"]["cursor"] for result in await stream.take(2)]
    assert received == [event["cursor"] for event in events[1:]]


async def test_a_subscription_shows_the_subject_as_it_is_now_to_the_caller(sample, new_app):
    admin = await sample.client(sample.owner)
    app = await new_app("read_orders", at=admin)
    query = 'subscription { events(types: ["order.updated"]) { id order { number: id status } } }'
    async with sse(app, query) as stream:
        order = await sample.place_order((sample.mug, 1), email="ana@example.com")
        await graphql_result(
            admin, 'mutation ($id: ID!) { order_set_status(id: $id, status: "P") { id } }', id=order.id
        )
        [result] = await stream.take(1)
    assert result["data"]["events"]["order"] == {"number": order.id, "status": "P"}


async def test_records_that_the_caller_may_not_read_are_an_error_of_their_field(sample, new_app):
    admin = await sample.client(sample.owner)
    app = await new_app("read_orders", at=admin)
    query = 'subscription { events(types: ["order.updated"]) { id product { id } } }'
    async with sse(app, query) as stream:
        order = await sample.place_order((sample.mug, 1), email="ana@example.com")
        await graphql_result(
            admin, 'mutation ($id: ID!) { order_set_status(id: $id, status: "P") { id } }', id=order.id
        )
        [result] = await stream.take(1)
    assert result["data"]["events"]["product"] is None
    assert result["errors"][0]["extensions"]["code"] == "FORBIDDEN"


@pytest.mark.parametrize(
    "query, code",
    [
        ("subscription { events { nothing } }", "GRAPHQL_VALIDATION_FAILED"),
        ("subscription { a: events { id } b: events { id } }", "GRAPHQL_VALIDATION_FAILED"),
        ("subscription {", "GRAPHQL_PARSE_FAILED"),
        ('subscription { events(after: "x") { id } }', "VALIDATION_FAILED"),
        ('subscription { events(types: ["x"]) { id } }', "VALIDATION_FAILED"),
        ("subscription ($after: String!) { events(after: $after) { id } }", "VALIDATION_FAILED"),
        ('subscription { events(types: ["user.registered"]) { id } }', "FORBIDDEN"),
    ],
)
async def test_a_refused_subscription_is_one_result_with_the_error(new_app, query, code):
    app = await new_app("read_orders")
    async with sse(app, query) as stream:
        message = await stream.next()
        assert message is not None
        assert message["event"] == "next"
        assert message["data"]["errors"][0]["extensions"]["code"] == code
        assert (await stream.next())["event"] == "complete"
        assert await stream.next() is None


@pytest.mark.parametrize(
    "arguments, field, code", [('after: "x"', "after", "invalid"), ('types: ["x"]', "types", "event_unknown")]
)
async def test_a_refused_argument_is_named_as_that_of_a_query_is(app, arguments, field, code):
    expected = {"code": "VALIDATION_FAILED", "field": field, "details": {"fields": {field: code}}}
    async with sse(app, f"subscription {{ events({arguments}) {{ id }} }}") as stream:
        assert (await stream.next())["data"]["errors"][0]["extensions"] == expected
    async with connect(app) as socket:
        await socket.subscribe("1", f"subscription {{ events({arguments}) {{ id }} }}")
        assert (await socket.receive())["payload"][0]["extensions"] == expected


async def test_a_query_over_server_sent_events_is_one_result(app):
    async with sse(app, "{ store { currency } }") as stream:
        assert (await stream.next())["data"]["data"] == {"store": {"currency": "BRL"}}
        assert (await stream.next())["event"] == "complete"


@pytest.mark.parametrize("accept", ["application/json, text/event-stream", "text/event-stream, */*"])
async def test_a_client_that_accepts_json_as_well_gets_streams_for_subscriptions_only(app, store, accept):
    headers = {**headers_of(app), "Accept": accept}
    async with app.http.post("/graphql", headers=headers, json={"query": "{ store { currency } }"}) as response:
        assert (await response.json())["data"] == {"store": {"currency": "BRL"}}
    async with app.http.post("/graphql", headers=headers, json={"query": EVENTS}) as response:
        assert response.headers["Content-Type"] == "text/event-stream"
        [event] = await emit_events(store)
        [result] = await Messages(response).take(1)
        assert result["data"]["events"]["id"] == f"evt_{event.hex}"


@pytest.mark.parametrize("accept", ["*/*", "application/json", "text/event-stream;q=0"])
async def test_a_subscription_without_a_stream_is_refused(app, accept):
    response = await app.post("/graphql", {"query": "subscription { events { id } }"}, headers={"Accept": accept})
    assert response.status == 400
    assert "text/event-stream" in response.body["errors"][0]["message"]


@pytest.mark.parametrize("query", [EVENTS, "{ store { currency } }", "{ nothing }"])
async def test_head_of_a_stream_of_results_is_its_head(app, query):
    headers = {**headers_of(app), "Accept": "text/event-stream"}
    for request in range(2):  # over one connection: a body would be read as the next response
        async with app.http.head("/graphql", headers=headers, params={"query": query}) as response:
            assert (response.status, response.content_type) == (200, "text/event-stream"), request


async def test_a_subscription_without_a_credential_is_unauthenticated(app, visitor):
    response = await visitor.post("/graphql", {"query": EVENTS}, headers={"Accept": "text/event-stream"})
    assert response.status == 401


async def test_a_subscription_ends_with_an_error_when_its_credential_does(app, store, fast_heartbeat):
    async with sse(app, EVENTS) as stream:
        await stream.next_block()
        await _revoke(store)
        message = await stream.next()
        assert message["data"]["errors"][0]["extensions"]["code"] == "UNAUTHENTICATED"
        assert (await stream.next())["event"] == "complete"


async def _revoke(store) -> None:
    from auth.credential_cache import process_cache

    await scopes.execute(
        store, "update app_tokens set expires_at = now() - interval '1 second' where tenant_id = $1", store.id
    )
    process_cache().clear()


# --- WebSockets --------------------------------------------------------------------------------------------------------------


class Socket:
    """A client of graphql-transport-ws, message by message."""

    def __init__(self, socket: Any) -> None:
        self.socket = socket

    async def send(self, type_: str, **members: Any) -> None:
        await self.socket.send_str(json.dumps({"type": type_, **members}))

    async def receive(self, seconds: float = 10) -> dict[str, Any]:
        message = await self.socket.receive(seconds)
        assert message.type is WSMsgType.TEXT, (message, self.socket.close_code)
        parsed: dict[str, Any] = json.loads(message.data)
        return parsed

    async def closed(self, seconds: float = 10) -> int:
        """Return the close code, once the server has closed the connection."""
        while (message := await self.socket.receive(seconds)).type is WSMsgType.TEXT:
            pass
        assert message.type in (WSMsgType.CLOSE, WSMsgType.CLOSED, WSMsgType.CLOSING), message
        return int(self.socket.close_code)

    async def subscribe(self, id_: str, query: str, **variables: Any) -> None:
        await self.send("subscribe", id=id_, payload={"query": query, "variables": variables})


@asynccontextmanager
async def connect(client: Client, *, init: bool = True, **options: Any) -> AsyncIterator[Socket]:
    headers = headers_of(client)
    authorization = headers.pop("Authorization", None)
    async with client.http.ws_connect(
        "/graphql", headers=headers, **{"protocols": ["graphql-transport-ws"], **options}
    ) as connection:
        socket = Socket(connection)
        if init:
            await socket.send("connection_init", payload={"Authorization": authorization})
            assert await socket.receive() == {"type": "connection_ack"}
        yield socket


async def test_a_socket_gets_the_results_of_several_subscriptions(app, store):
    async with connect(app) as socket:
        await socket.subscribe("orders", EVENTS, types=["order.updated"])
        await socket.subscribe("products", EVENTS, types=["product.updated"])
        await socket.send("ping")
        assert await socket.receive() == {"type": "pong"}
        await asyncio.sleep(0.2)
        await emit_events(store, "product.updated")
        await emit_events(store, "order.updated")
        messages = [await socket.receive(), await socket.receive()]
    assert {(message["id"], message["payload"]["data"]["events"]["event"]) for message in messages} == {
        ("products", "product.updated"),
        ("orders", "order.updated"),
    }


async def test_a_completed_subscription_sends_nothing_more(app, store):
    async with connect(app) as socket:
        await socket.subscribe("1", EVENTS, after="oldest")
        await emit_events(store)
        assert (await socket.receive())["type"] == "next"
        await socket.send("complete", id="1")
        await socket.send("ping", payload={"n": 1})
        assert await socket.receive() == {"type": "pong", "payload": {"n": 1}}
        await emit_events(store)
        await socket.send("ping")
        assert await socket.receive() == {"type": "pong"}
        await socket.subscribe("1", EVENTS, after="oldest")  # the id is free again
        assert (await socket.receive())["payload"]["data"]["events"]


async def test_queries_and_mutations_are_one_result(app):
    async with connect(app) as socket:
        await socket.subscribe("q", "{ store { currency } }")
        result = await socket.receive()
        assert (result["type"], result["id"], result["payload"]["data"]) == (
            "next",
            "q",
            {"store": {"currency": "BRL"}},
        )
        assert await socket.receive() == {"type": "complete", "id": "q"}


async def test_a_refused_operation_is_an_error_of_it_alone(app):
    async with connect(app) as socket:
        for query in ("subscription { events { nothing } }", 'subscription { events(after: "x") { id } }', ""):
            await socket.subscribe("1", query)
            message = await socket.receive()
            assert (message["type"], message["id"]) == ("error", "1"), query
            assert message["payload"][0]["extensions"]["code"] in ("GRAPHQL_VALIDATION_FAILED", "VALIDATION_FAILED"), (
                query
            )


@pytest.mark.parametrize(
    "query, variables",
    [
        ("query ($n: Int) { products(limit: $n) { id } }", {"n": "x"}),
        ("mutation ($id: ID!) { product_delete(id: $id) { id } }", {}),
    ],
)
async def test_a_query_or_mutation_with_a_wrong_variable_is_refused_as_a_subscription_is(app, query, variables):
    errors = (await app.post("/graphql", {"query": query, "variables": variables})).body["errors"]
    async with connect(app) as socket:
        await socket.subscribe("1", query, **variables)
        assert await socket.receive() == {"type": "error", "id": "1", "payload": errors}
    async with sse(app, query, **variables) as stream:
        assert (await stream.next())["data"] == {"errors": errors}
        assert (await stream.next())["event"] == "complete"


async def test_the_message_of_a_wrong_variable_is_that_of_a_query(app):
    query = "subscription($types: [String!]) { events(types: $types) { id } }"
    async with connect(app) as socket:
        await socket.subscribe("1", query, types=[None])
        message = (await socket.receive())["payload"][0]["message"]
        assert message.endswith("Expected value of non-null type 'String!' not to be null.")


async def test_an_operation_that_is_refused_once_the_client_is_gone_fails_nowhere(app):
    failures: list[Any] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: failures.append(context))
    async with connect(app) as socket:
        for id_ in range(20):
            await socket.subscribe(str(id_), "")
        with fromfd(socket.socket.get_extra_info("socket").fileno(), AF_INET, SOCK_STREAM) as connection:
            connection.shutdown(SHUT_RDWR)
        await asyncio.sleep(0.5)
    gc.collect()
    assert failures == []


async def test_the_headers_of_the_request_authenticate_as_well(app):
    headers = headers_of(app)
    async with app.http.ws_connect("/graphql", headers=headers, protocols=["graphql-transport-ws"]) as connection:
        socket = Socket(connection)
        await socket.send("connection_init")
        assert await socket.receive() == {"type": "connection_ack"}


@pytest.mark.parametrize("named_by", ["payload", "address"])
async def test_a_browser_names_the_store_when_it_has_connected(app, named_by):
    store, authorization = str(app.store.public_id), app.credentials["Authorization"]
    address = f"/graphql?tenant={store}" if named_by == "address" else "/graphql"
    payload = {"Authorization": authorization} | ({"X-Tenant-ID": store} if named_by == "payload" else {})
    async with app.http.ws_connect(address, protocols=["graphql-transport-ws"]) as connection:
        socket = Socket(connection)
        await socket.send("connection_init", payload=payload)
        assert await socket.receive() == {"type": "connection_ack"}
        await socket.subscribe("q", "{ store { id } }")
        assert (await socket.receive())["payload"]["data"] == {"store": {"id": store}}


async def test_only_a_handshake_may_name_its_store_later(app):
    async with app.http.post(
        "/graphql", json={"query": "{ store { id } }"}, headers={"Upgrade": "websocket"}
    ) as answer:
        assert answer.status == 404, await answer.text()


@pytest.mark.parametrize("named_store", [None, "", "x", "00000000-0000-0000-0000-000000000000", "other"])
async def test_a_socket_of_another_store_or_none_is_closed(app, other_store, named_store):
    name = str(other_store.public_id) if named_store == "other" else named_store
    for address, named in (
        (f"/graphql?tenant={name}", {}),
        ("/graphql", {"X-Tenant-ID": name} if name is not None else {}),
    ):
        async with app.http.ws_connect(address, protocols=["graphql-transport-ws"]) as connection:
            socket = Socket(connection)
            await socket.send("connection_init", payload=app.credentials | named)
            assert await socket.closed() == 4403, address


@pytest.mark.parametrize(
    "payload, code",
    [
        (None, 4403),
        ({}, 4403),
        ({"Authorization": "Bearer vat_live_wrong"}, 4403),
        ({"Authorization": "nonsense"}, 4403),
        ({"authorization": "Bearer é"}, 4403),
        ({"X-API-Key": "sfk_wrong"}, 4403),
        ("text", 4400),
        ([], 4400),
    ],
)
async def test_a_connection_without_a_valid_credential_is_closed(visitor, payload, code):
    async with connect(visitor, init=False) as socket:
        await socket.send("connection_init", payload=payload)
        assert await socket.closed() == code


@pytest.mark.parametrize(
    "text",
    [
        "nonsense", "[]", "1", '"x"', "{}", '{"type": 3}', '{"type": "next"}', '{"type": "subscribe"}', '{"type": "start"}',
        '{"type": "subscribe", "id": 1, "payload": {"query": "{ store { id } }"}}', '{"type": "subscribe", "id": "", "payload": {}}',
        '{"type": "subscribe", "id": "1", "payload": []}', '{"type": ["ping"]}', "[" * 1_000,
    ],
)  # fmt: skip
async def test_an_invalid_message_closes_the_connection(app, text):
    async with connect(app) as socket:
        await socket.socket.send_str(text)
        assert await socket.closed() == 4400


@pytest.mark.parametrize("id_", [["x"], {"x": 1}, 1, None])
async def test_an_id_that_is_no_text_names_no_operation(app, id_):
    async with connect(app) as socket:
        await socket.send("complete", id=id_)
        await socket.send("ping", id=id_)
        assert await socket.receive() == {"type": "pong"}


async def test_a_binary_message_closes_the_connection(app):
    async with connect(app) as socket:
        await socket.socket.send_bytes(b"{}")
        assert await socket.closed() == 4400


async def test_an_oversized_message_closes_the_connection(app):
    async with connect(app) as socket:
        await socket.subscribe("1", "{ store { id } } #" + "x" * graphql_sockets.MAX_MESSAGE_BYTES)
        assert await socket.closed() == 1009


async def test_a_subscription_before_the_initialisation_is_unauthorized(app):
    async with connect(app, init=False) as socket:
        await socket.subscribe("1", EVENTS)
        assert await socket.closed() == 4401


async def test_a_connection_that_is_not_initialised_is_closed(app, monkeypatch):
    monkeypatch.setattr(graphql_sockets, "INIT_SECONDS", 0.1)
    async with connect(app, init=False) as socket:
        assert await socket.closed() == 4408


async def test_a_second_initialisation_closes_the_connection(app):
    async with connect(app) as socket:
        await socket.send("connection_init")
        assert await socket.closed() == 4429


async def test_an_id_in_use_closes_the_connection(app):
    async with connect(app) as socket:
        await socket.subscribe("1", EVENTS)
        await socket.subscribe("1", EVENTS)
        assert await socket.closed() == 4409


async def test_a_reason_is_cut_between_two_characters(app):
    """A client refuses one that is not UTF-8, and with it the code (RFC 6455, section 8.1)."""
    async with connect(app) as socket:
        await socket.subscribe("-" + "ç" * 100, EVENTS)
        await socket.subscribe("-" + "ç" * 100, EVENTS)
        assert await socket.closed() == 4409


async def test_another_protocol_is_not_accepted(app):
    async with connect(app, init=False, protocols=["graphql-ws"]) as socket:
        assert await socket.closed() == 4406


async def test_a_socket_has_a_limited_number_of_operations(app, monkeypatch):
    monkeypatch.setattr(graphql_sockets, "MAX_OPERATIONS", 2)
    async with connect(app) as socket:
        for id_ in ("1", "2", "3"):
            await socket.subscribe(id_, EVENTS)
        message = await socket.receive()
        assert (message["type"], message["id"]) == ("error", "3")
        assert message["payload"][0]["extensions"]["code"] == "RATE_LIMITED"


async def test_operations_count_as_requests_of_the_caller(new_app):
    app = await new_app("read_orders", rate=3)
    async with connect(app) as socket:
        codes = []
        for number in range(4):
            await socket.subscribe(str(number), "{ store { currency } }")
            message = await socket.receive()
            codes.append(message["payload"][0]["extensions"]["code"] if message["type"] == "error" else "")
            if message["type"] == "next":
                await socket.receive()
    assert codes[-1] == "RATE_LIMITED"


async def outcome(socket: Socket) -> str:
    """Return the code of an operation's error, "" for a result; a result is followed by `complete`."""
    message = await socket.receive()
    if message["type"] == "error":
        return str(message["payload"][0]["extensions"]["code"])
    assert await socket.receive() == {"type": "complete", "id": message["id"]}
    return ""


async def test_operations_and_pings_count_as_requests_of_the_client_address(serve_application, new_app):
    http = await serve_application(Settings(ip_rate=6, failed_auth_rate=0))
    app = replace(await new_app("read_orders"), http=http)
    query = {"query": "{ store { currency } }"}
    async with connect(app) as socket:  # the request that opens it counts, and its first message
        codes = []
        for number in range(3):
            await socket.subscribe(str(number), query["query"])
            codes.append(await outcome(socket))
        assert (await app.post("/graphql", query)).status == 200
        assert (await app.post("/graphql", query)).status == 429
        await socket.subscribe("4", query["query"])
        codes.append(await outcome(socket))
        assert codes == ["", "", "", "RATE_LIMITED"]
        await socket.send("ping")
        assert await socket.closed() == 1013
    # Other addresses are served.
    assert (await app.from_new_address().post("/graphql", query)).status == 200


async def test_a_ping_with_the_id_of_an_operation_counts_as_well(serve_application, new_app):
    http = await serve_application(Settings(ip_rate=3, failed_auth_rate=0))
    app = replace(await new_app("read_orders"), http=http)
    async with connect(app) as socket:
        await socket.subscribe("1", EVENTS)
        for _ in range(3):  # the operation may be counted after the first of them
            await socket.send("ping", id="1")
        assert await socket.closed() == 1013


async def test_operations_beyond_those_of_a_connection_count_for_the_client_address(
    serve_application, new_app, monkeypatch
):
    monkeypatch.setattr(graphql_sockets, "MAX_OPERATIONS", 1)
    http = await serve_application(Settings(ip_rate=5, failed_auth_rate=0))
    app = replace(await new_app("read_orders"), http=http)
    async with connect(app) as socket:  # the request, its first message and one operation are three
        for number in range(6):
            await socket.subscribe(str(number), EVENTS)
        refused = [await outcome(socket) for _ in range(2)]
        assert refused == ["RATE_LIMITED"] * 2
        assert await socket.closed() == 1013


async def test_operations_that_end_at_once_count_for_the_client_address(serve_application, new_app):
    http = await serve_application(Settings(ip_rate=6, failed_auth_rate=0))
    app = replace(await new_app("read_orders"), http=http)
    async with connect(app) as socket:  # the request and its first message are two
        for number in range(5):
            await socket.subscribe(str(number), EVENTS)
            await socket.send("complete", id=str(number))
        assert await outcome(socket) == "RATE_LIMITED"


async def test_operations_are_concurrent_requests_of_the_client_address_until_their_stream_begins(
    serve_application, new_app, store
):
    http = await serve_application(Settings(ip_rate=0, failed_auth_rate=0, address_requests=3))
    app = replace(await new_app("read_orders"), http=http)
    may_end = threading.Event()
    async with connect(app) as socket, connect(app) as second:
        await emit_events(store)
        await socket.subscribe("stream", EVENTS, after="oldest")
        assert (await socket.receive())["type"] == "next"
        busy = asyncio.ensure_future(PYTHON_WORK.run(may_end.wait, "test", 1, ("test",)))
        await asyncio.sleep(0)
        for number in range(3):  # wait for the thread, in which new documents are prepared
            await (socket if number else second).subscribe(str(number), f"{{ n{number}: store {{ currency }} }}")
        while http.app[event_streams.RATE_LIMITER]._requests._open.get(app.ip) != 3:
            await asyncio.sleep(0.005)
        await second.subscribe("refused", "{ store { currency } }")
        assert await outcome(second) == "RATE_LIMITED"
        over_http = await app.post("/graphql", {"query": "{ store { currency } }"})
        assert over_http.body["detail"] == "more than 3 concurrent requests from this address"
        may_end.set()
        await busy
        assert [await outcome(socket), await outcome(socket), await outcome(second)] == ["", "", ""]
        # An operation that ends, or is ended by the client, is counted no longer.
        for number in range(9):
            await second.subscribe(str(number), "{ store { currency } }")
            assert await outcome(second) == "", number


async def test_a_socket_is_closed_when_the_credential_of_its_subscription_ends(app, store, fast_heartbeat):
    async with connect(app) as socket:
        await socket.subscribe("1", EVENTS)
        await asyncio.sleep(0.2)
        await _revoke(store)
        assert await socket.closed() == 4403


async def test_sockets_are_closed_for_a_restart_when_the_server_stops(serve_application, new_app, store):
    http = await serve_application(Settings(ip_rate=0, failed_auth_rate=0))
    app = replace(await new_app("read_orders"), http=http)
    async with connect(app) as socket, connect(app) as idle:
        await socket.subscribe("1", EVENTS)
        await asyncio.sleep(0.2)
        http.app[event_tails.EVENT_TAILS].stop()
        assert await socket.closed() == 1012
        assert await idle.closed() == 1012
