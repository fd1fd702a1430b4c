"""The webhook receiver of all stores: it verifies signatures, records events, and can hang."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from time import monotonic

import orjson
from aiohttp import web

from tests.system.soak.model import StoreModel, World

# Longer than the 10 s a delivery may take (docs/reference/shared.md#webhook-retries).
_HANG_SECONDS = 15.0
_SUBJECT_KEYS = ("order_id", "id")


@dataclass(frozen=True)
class Subscriber:
    """The app of a store and its client secret."""

    store: StoreModel
    client_id: str
    client_secret: bytes


class Receiver:
    """Receives deliveries at `/{marker}`; `/{marker}/never` never responds in time."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._subscribers: dict[str, Subscriber] = {}
        self._responsive = asyncio.Event()
        self._responsive.set()
        self._runner: web.AppRunner | None = None
        self.deliveries = 0
        self.last_prices: dict[str, tuple[int, float]] = {}
        """The price of the last `product.updated` per product and when it arrived (monotonic seconds)."""
        self.base_url = ""

    async def start(self) -> None:
        """Listen on a port the system chooses."""
        application = web.Application()
        application.router.add_post("/{marker}", self._receive)
        application.router.add_post("/{marker}/never", self._hang)
        self._runner = web.AppRunner(application, access_log=None, shutdown_timeout=1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.base_url = f"http://127.0.0.1:{self._runner.addresses[0][1]}"

    async def stop(self) -> None:
        """Stop listening."""
        assert self._runner is not None
        await self._runner.cleanup()

    def subscribe(self, subscriber: Subscriber) -> None:
        """Accept the deliveries of a store's app."""
        self._subscribers[subscriber.store.marker] = subscriber

    def hang(self) -> None:
        """Accept requests without responding until `respond`."""
        self._responsive.clear()

    def respond(self) -> None:
        """Respond again."""
        self._responsive.set()

    async def _receive(self, request: web.Request) -> web.Response:
        body = await request.read()
        await self._responsive.wait()
        subscriber = self._subscribers.get(request.match_info["marker"])
        if subscriber is None:
            self._world.findings.add("event", f"a delivery to {request.path}, which no store registered")
            return web.Response(status=404)
        self.deliveries += 1
        problem = self.problem_of(subscriber, body, request.headers)
        if problem:
            self._world.findings.add("event", f"{request.path}: {problem}: {body[:200]!r}")
            return web.Response(status=400)
        self._record(subscriber.store, orjson.loads(body))
        return web.Response(status=204)

    def problem_of(self, subscriber: Subscriber, body: bytes, headers: Mapping[str, str]) -> str:
        """Return what is wrong with a delivery (signature, store, app), or an empty text."""
        if not is_signed(subscriber.client_secret, body, headers):
            return "wrong signature"
        event = orjson.loads(body)
        if event["tenant_id"] != subscriber.store.tenant_id or event["app_id"] != subscriber.client_id:
            return "the event of another store or app"
        if event["id"] != headers.get("webhook-id"):
            return "webhook-id is not the event's id"
        self._world.check_isolation(subscriber.store, body.decode(), about="webhook")
        return ""

    def _record(self, store: StoreModel, event: Mapping[str, object]) -> None:
        data = event["data"]
        assert isinstance(data, dict)
        assert isinstance(event["sequence"], int)
        subject = next((str(data[key]) for key in _SUBJECT_KEYS if key in data), "")
        store.receive_event(str(event["event"]), subject, event["sequence"])
        if event["event"] == "product.updated":
            self.last_prices[subject] = int(data["price_cents"]), monotonic()

    async def _hang(self, request: web.Request) -> web.Response:
        await request.read()
        await asyncio.sleep(_HANG_SECONDS)
        return web.Response(status=500)


def is_signed(secret: bytes, body: bytes, headers: Mapping[str, str]) -> bool:
    """Verify both signature headers of a delivery (docs/reference/shared.md#webhook-signatures)."""
    hexadecimal = hmac.new(secret, body, hashlib.sha256).hexdigest()
    signed = f"{headers.get('webhook-id')}.{headers.get('webhook-timestamp')}.".encode() + body
    standard = "v1," + base64.b64encode(hmac.new(secret, signed, hashlib.sha256).digest()).decode()
    return (
        hmac.compare_digest(headers.get("X-Service-Signature", ""), f"sha256={hexadecimal}")
        and standard in headers.get("webhook-signature", "").split()
    )
