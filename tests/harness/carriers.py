"""A local server in place of Melhor Envio and Frenet, which answers as they are documented, or with a fault."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import orjson
from aiohttp import web

from domain.outgoing import calls
from server.outgoing import outgoing_client

MELHOR_ENVIO_PATH, FRENET_PATH = "/api/v2/me/shipment/calculate", "/shipping/quote"


def melhor_envio_service(service: int = 1, price: str = "25.50", **members: Any) -> dict[str, Any]:
    """Return a service as Melhor Envio answers it."""
    return {
        "id": service,
        "name": "PAC",
        "price": "30.10",
        "custom_price": price,
        "discount": "4.60",
        "currency": "R$",
        "delivery_time": 6,
        "delivery_range": {"min": 5, "max": 6},
        "custom_delivery_time": 5,
        "custom_delivery_range": {"min": 4, "max": 5},
        "packages": [],
        "company": {"id": 1, "name": "Correios", "picture": "https://img.example/correios.png"},
        **members,
    }


def frenet_service(service: str = "04510", price: str = "32.50", **members: Any) -> dict[str, Any]:
    """Return a service as Frenet answers it."""
    return {
        "ServiceCode": service,
        "ServiceDescription": "PAC",
        "Carrier": "Correios",
        "CarrierCode": "COR",
        "ShippingPrice": price,
        "DeliveryTime": "7",
        "Error": False,
        "Msg": "",
        "OriginalDeliveryTime": "7",
        "OriginalShippingPrice": price,
        "ResponseTime": "0",
        **members,
    }


class CarrierServer:
    """The server: what it was asked, and what it answers with, after so many seconds."""

    def __init__(self) -> None:
        self.address = ""
        self.requests: list[tuple[str, dict[str, str], dict[str, Any]]] = []
        self.status = 200
        self.seconds = 0.0
        self.raises_prices = False
        self.melhor_envio: Any = [melhor_envio_service()]
        self.frenet: Any = {"ShippingSevicesArray": [frenet_service()]}

    async def answer(self, request: web.Request) -> web.Response:
        """Answer a request."""
        self.requests.append((request.path, dict(request.headers), orjson.loads(await request.read())))
        await asyncio.sleep(self.seconds)
        body = self.melhor_envio if request.path == MELHOR_ENVIO_PATH else self.frenet
        if self.raises_prices:
            body = [melhor_envio_service(price=f"{len(self.requests)}.00")]
        raw = body if isinstance(body, bytes) else orjson.dumps(body)
        return web.Response(body=raw, status=self.status, content_type="application/json")

    def melhor_envio_params(self, **members: Any) -> dict[str, Any]:
        """Return the parameters of a method whose source is this server."""
        return {
            "token": "me-secret",
            "origin_zipcode": "01310-100",
            "contact_email": "ti@loja.example",
            "address": self.address,
            **members,
        }

    def frenet_params(self, **members: Any) -> dict[str, Any]:
        """Return the parameters of a method whose source is this server."""
        return {"token": "fr-secret", "origin_zipcode": "01310100", "address": self.address, **members}


@asynccontextmanager
async def carrier_server() -> AsyncIterator[CarrierServer]:
    """Run the server, and let the domain call it."""
    carriers = CarrierServer()
    app = web.Application()
    for path in (MELHOR_ENVIO_PATH, FRENET_PATH):
        app.router.add_post(path, carriers.answer)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    carriers.address = f"http://127.0.0.1:{runner.addresses[0][1]}"
    before = (calls._caller, calls._allows_private)
    try:
        async with outgoing_client(allows_private=True):
            yield carriers
    finally:
        calls._caller, calls._allows_private = before  # those of a server of the same process
        await runner.cleanup()
