"""Serve operations over a WebSocket by the protocol graphql-transport-ws (https://github.com/enisdenjo/graphql-ws, PROTOCOL.md).

The caller is named by the payload of `connection_init` (`Authorization` or `X-API-Key`, as browsers can't send headers), else by the
request's headers; the store too (`X-Tenant-ID`, or `?tenant=` in the address). Each operation counts as a request of its caller and of
the client address, and is one of the address's concurrent requests until its result is sent or its stream begins. A ping counts for the
address too. Each subscription is one of its caller's streams.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import ExitStack, aclosing, suppress
from typing import Any

import orjson
from aiohttp import WSMsgType, hdrs, web
from multidict import CIMultiDict

from kernel import logging
from kernel.errors import DomainError, RateLimited, Unauthenticated, Unavailable
from kernel.request_bodies import MalformedBody, parse_json
from kernel.scope import ActorKind, Scope, active_scope
from rest_facade.routing import CLIENT_IP, REQUEST_ID
from server.http.authentication import TENANT_HEADER
from server.http.connections import SETTINGS
from server.http.event_streams import RATE_LIMITER, RenewScope, lift_limits, renewal
from server.http.event_tails import EVENT_TAILS
from server.http.families import family_of
from server.http.graphql_streams import Operation, OperationRefused, execute_once, prepare, subscribe
from server.http.graphql_view import formatted

PROTOCOL = "graphql-transport-ws"
MAX_MESSAGE_BYTES = 256 * 1024
MAX_OPERATIONS = 20
"""Operations of one socket at the same time."""
INIT_SECONDS = 10.0
# A client whose connection was lost without a TCP reset is noticed after half as long again.
PING_SECONDS = 30.0
_CREDENTIALS = (hdrs.AUTHORIZATION, "X-API-Key")

# Close codes of the protocol, and 1012 and 1013 of the WebSocket registry: its clients connect again after 1012, 1013 and 4403.
RESTART, TRY_LATER, BAD_REQUEST, UNAUTHORIZED, FORBIDDEN = 1012, 1013, 4400, 4401, 4403
NOT_ACCEPTABLE, INIT_TIMEOUT, TAKEN, INIT_TWICE = 4406, 4408, 4409, 4429


class _Closed(Exception):
    """End the connection with a close code and its reason, at most 123 bytes."""

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(reason)
        self.code = code
        self.reason = reason


async def open_socket(request: web.Request) -> web.StreamResponse:
    """Serve a WebSocket until one of the sides closes it."""
    socket = web.WebSocketResponse(
        protocols=(PROTOCOL,), heartbeat=PING_SECONDS, max_msg_size=MAX_MESSAGE_BYTES, compress=False
    )
    if not socket.can_prepare(request):
        return web.Response(status=426, headers={hdrs.UPGRADE: "websocket"})
    lift_limits(request)
    await socket.prepare(request)
    if socket.ws_protocol != PROTOCOL:
        await socket.close(code=NOT_ACCEPTABLE, message=b"Subprotocol not acceptable")
        return socket
    connection = _Connection(request, socket)
    with request.app[EVENT_TAILS].stopping(connection.stop):
        await connection.serve()
    return socket


class _Connection:
    """A socket with its caller and its running operations."""

    def __init__(self, request: web.Request, socket: web.WebSocketResponse) -> None:
        self._request = request
        self._app = request.app
        self._socket = socket
        self._renew: RenewScope | None = None
        self._is_init_received = False
        self._operations: dict[str, asyncio.Task[None]] = {}
        self._ending: asyncio.Task[None] | None = None

    async def serve(self) -> None:
        """Handle messages until the connection ends."""
        timer = asyncio.get_running_loop().call_later(INIT_SECONDS, self._on_init_timeout)
        try:
            async for message in self._socket:
                if message.type is not WSMsgType.TEXT:
                    raise _Closed(BAD_REQUEST, "Invalid message received")
                await self._handle(_parse(message.data))
        except _Closed as closed:
            await self._close(closed)
        finally:
            timer.cancel()
            tasks = [*self._operations.values(), *([self._ending] if self._ending is not None else [])]
            for task in self._operations.values():
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def stop(self) -> None:
        """End the connection because the process stops; clients connect again."""
        self._end(_Closed(RESTART, "Service Restart"))

    def _end(self, closed: _Closed) -> None:
        if self._ending is None:
            self._ending = asyncio.get_running_loop().create_task(self._close(closed))

    async def _close(self, closed: _Closed) -> None:
        # Not a part of a character: clients refuse a reason that is not UTF-8 (RFC 6455, section 8.1).
        reason = closed.reason.encode()[:123].decode(errors="ignore")
        await self._socket.close(code=closed.code, message=reason.encode())

    def _on_init_timeout(self) -> None:
        if self._renew is None:
            self._end(_Closed(INIT_TIMEOUT, "Connection initialisation timeout"))

    async def _handle(self, message: dict[str, Any]) -> None:
        handlers: dict[Any, Callable[[dict[str, Any]], Awaitable[None]]] = {
            "connection_init": self._on_init,
            "ping": self._on_ping,
            "pong": self._on_pong,
            "subscribe": self._on_subscribe,
            "complete": self._on_complete,
        }
        kind = message.get("type")
        handler = handlers.get(kind) if isinstance(kind, str) else None
        if handler is None:
            raise _Closed(BAD_REQUEST, "Invalid message received")
        # The end of an operation costs nothing; a refused one is an error of its own.
        if kind != "subscribe" and not (kind == "complete" and self._is_running(message)):
            await self._count_message()
        await handler(message)

    async def _count_message(self) -> None:
        """Count a message as a request of the client address; one too many ends the connection."""
        try:
            await self._count_address()
        except RateLimited as error:
            raise _Closed(TRY_LATER, error.message) from error

    async def _count_address(self) -> None:
        request = self._request
        await self._app[RATE_LIMITER].count_address(request, family_of(request.path), request[CLIENT_IP])

    # --- Connection ------------------------------------------------------------------------------------------------------

    async def _on_init(self, message: dict[str, Any]) -> None:
        if self._is_init_received:
            raise _Closed(INIT_TWICE, "Too many initialisation requests")
        self._is_init_received = True
        payload = message.get("payload")
        if payload is not None and not isinstance(payload, dict):
            raise _Closed(BAD_REQUEST, "the payload of connection_init must be an object")
        renew = renewal(self._request, _headers(self._request, payload or {}))
        try:
            scope = await self._authenticate(renew)
        except DomainError as error:
            raise _Closed(FORBIDDEN, error.message) from error
        if scope.actor.kind is ActorKind.ANONYMOUS:
            raise _Closed(FORBIDDEN, "Forbidden")
        self._renew = renew
        await self._send({"type": "connection_ack"})

    async def _authenticate(self, renew: RenewScope) -> Scope:
        """Return the caller's scope; a wrong credential counts as one of a request."""
        limiter, address = self._app[RATE_LIMITER], self._request[CLIENT_IP]
        try:
            return await renew()
        except Unauthenticated:
            await limiter.count_failure(address)
            raise

    async def _on_ping(self, message: dict[str, Any]) -> None:
        await self._send({"type": "pong", **({"payload": message["payload"]} if "payload" in message else {})})

    async def _on_pong(self, message: dict[str, Any]) -> None:
        pass

    # --- Operations ------------------------------------------------------------------------------------------------------

    async def _on_subscribe(self, message: dict[str, Any]) -> None:
        if self._renew is None:
            raise _Closed(UNAUTHORIZED, "Unauthorized")
        id_, payload = message.get("id"), message.get("payload")
        if not isinstance(id_, str) or not 0 < len(id_) <= 255 or not isinstance(payload, dict):
            raise _Closed(BAD_REQUEST, "Invalid message received")
        if id_ in self._operations:
            raise _Closed(TAKEN, f"Subscriber for {id_} already exists")
        if len(self._operations) >= MAX_OPERATIONS:
            await self._count_message()
            await self._send_errors(id_, [_too_many()])
            return
        # Here, and not in its task: a client may end it before its first step.
        try:
            await self._count_address()
        except RateLimited as error:
            await self._send_errors(id_, [formatted(error)])
            return
        self._operations[id_] = asyncio.get_running_loop().create_task(self._run(id_, payload, self._renew))

    async def _on_complete(self, message: dict[str, Any]) -> None:
        if self._is_running(message):
            self._operations.pop(message["id"]).cancel()

    def _is_running(self, message: dict[str, Any]) -> bool:
        id_ = message.get("id")
        return isinstance(id_, str) and id_ in self._operations

    async def _run(self, id_: str, payload: dict[str, Any], renew: RenewScope) -> None:
        """Execute one operation and send its results; the caller's credential may end the connection."""
        limiter = self._app[RATE_LIMITER]
        try:
            with limiter.slot(self._request[CLIENT_IP]) as slot:
                scope = await renew()
                with active_scope(scope):
                    await limiter.count_caller(self._request, family_of(self._request.path), scope)
                    if scope.store.limits:
                        await limiter.count_store(scope.store, slot)
                    operation = await prepare(self._app, scope, payload)
                    await self._send_results(id_, scope, renew, operation, slot)
        except OperationRefused as error:
            await self._complete(id_, error.errors)
        except Unauthenticated as error:
            self._end(_Closed(FORBIDDEN, error.message))
        except DomainError as error:
            await self._complete(id_, [formatted(error)])
        except Exception as error:
            logging.failure("operation of a WebSocket failed", error, request_id=self._request[REQUEST_ID])
            await self._complete(id_, [{"message": "an unexpected error occurred", "extensions": {"code": "INTERNAL"}}])

    async def _send_results(
        self, id_: str, scope: Scope, renew: RenewScope, operation: Operation, slot: ExitStack
    ) -> None:
        """Execute an operation and send its results; they are sent without the slot, as over HTTP."""
        if not operation.is_subscription:
            try:
                async with asyncio.timeout(self._app[SETTINGS].request_timeout):
                    result = await execute_once(self._app, scope, operation)
            except TimeoutError as error:
                raise Unavailable() from error
            slot.close()
            await self._send_next(id_, result)
            await self._complete(id_)
            return
        async with aclosing(subscribe(self._app, scope, renew, operation)) as produced:
            async for content in produced:
                slot.close()
                if content is not None:
                    await self._send_next(id_, content)

    async def _complete(self, id_: str, errors: list[dict[str, Any]] | None = None) -> None:
        """End an operation, unless the client ended it meanwhile."""
        if self._operations.get(id_) is not asyncio.current_task():
            return
        del self._operations[id_]
        if errors is None:
            await self._send({"type": "complete", "id": id_})
        else:
            await self._send_errors(id_, errors)

    async def _send_next(self, id_: str, content: bytes) -> None:
        # The content is JSON already.
        start = orjson.dumps({"type": "next", "id": id_})[:-1].decode()
        await self._send_text(f'{start},"payload":{content.decode()}}}')

    async def _send_errors(self, id_: str, errors: list[dict[str, Any]]) -> None:
        await self._send({"type": "error", "id": id_, "payload": errors})

    async def _send(self, message: dict[str, Any]) -> None:
        await self._send_text(orjson.dumps(message).decode())

    async def _send_text(self, text: str) -> None:
        with suppress(ConnectionError):  # the client is gone, which ends `serve` and cancels the operations
            await self._socket.send_str(text)


def _parse(text: str) -> dict[str, Any]:
    try:
        message = parse_json(text.encode("utf-8", "surrogatepass"))
    except MalformedBody as error:
        raise _Closed(BAD_REQUEST, "Invalid message received") from error
    if not isinstance(message, dict):
        raise _Closed(BAD_REQUEST, "Invalid message received")
    return message


def _headers(request: web.Request, payload: dict[str, Any]) -> CIMultiDict[str]:
    """Return the request's headers with the store and the credentials that the payload names in place of its own.

    The store that the address names counts where neither does.
    """
    headers = CIMultiDict(request.headers)
    named = {name.lower(): value for name, value in payload.items() if isinstance(value, str)}
    store = named.get(TENANT_HEADER.lower()) or headers.get(TENANT_HEADER) or request.query.get("tenant")
    if store:
        headers[TENANT_HEADER] = store
    credentials = {name: named[name.lower()] for name in _CREDENTIALS if name.lower() in named}
    if credentials:
        for name in _CREDENTIALS:
            headers.popall(name, None)
        headers.update(credentials)
    return headers


def _too_many() -> dict[str, Any]:
    message = f"the connection has {MAX_OPERATIONS} operations already"
    return {"message": message, "extensions": {"code": "RATE_LIMITED"}}
