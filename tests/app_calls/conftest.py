"""Fixtures of an app that stores call, on a real server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest

from domain.app_calls import calling
from domain.app_calls.circuit_breaker import CircuitBreaker
from kernel.scope import Scope
from server.outgoing import outgoing_client
from tests.app_calls.hostile import HostileApp
from tests.harness import scopes
from tests.harness.http import Client, system_trust
from tests.harness.oauth import App, issue_tokens, register_app


@dataclass(frozen=True)
class InstalledApp:
    """An installed app whose addresses are those of the server `app`."""

    scope: Scope
    app: App
    server: HostileApp
    client: Client
    """The app's own client."""
    admin: Client


@pytest.fixture
async def server() -> AsyncIterator[HostileApp]:
    async with HostileApp() as started:
        yield started


@pytest.fixture(autouse=True)
async def outgoing_requests() -> AsyncIterator[None]:
    """Allow requests to this machine."""
    async with outgoing_client(allows_private=True, trust=system_trust()):
        yield


@pytest.fixture(autouse=True)
def fresh_breaker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calling, "breaker", CircuitBreaker())


async def install_app(admin: Client, server: HostileApp, names: list[str], call_urls: dict[str, Any]) -> InstalledApp:
    app = await register_app(admin, scopes=names, call_urls=call_urls)
    tokens = await issue_tokens(admin, app, names)
    scope = replace(scopes.system_scope(admin.store), request_id="request-1")
    return InstalledApp(scope, app, server, admin.with_token(tokens["access_token"]), admin)


@pytest.fixture
def install(admin: Client, server: HostileApp) -> Callable[..., Awaitable[InstalledApp]]:
    """Return a function that registers and installs an app, by default with both scopes and both addresses."""

    async def install(*names: str, call_urls: dict[str, Any] | None = None) -> InstalledApp:
        urls = {"payments": server.url, "shipping_rates": server.url} if call_urls is None else call_urls
        return await install_app(admin, server, list(names) or ["handle_payments", "handle_shipping_rates"], urls)

    return install


@pytest.fixture
async def installed(install: Callable[..., Awaitable[InstalledApp]]) -> InstalledApp:
    return await install()


async def within(seconds: float, work: Awaitable[Any]) -> Any:
    async with asyncio.timeout(seconds):
        return await work
