"""The playground offers a store where the address names none, and asks for one where there is none to offer."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from kernel.errors import TenantClosed, TenantNotFound
from kernel.scope import Store
from kernel.settings import Settings
from server.demo import DEMO_STORE_ID
from server.http.playground import BUILT_KEY
from tests.server.middleware_server import FakeStoreResolver, run_server

DEFAULT = Store(id=9, public_id=UUID("01900000-0000-7000-8000-000000000009"), name="Default")
DEMO = Store(id=10, public_id=UUID(DEMO_STORE_ID), name="Demo")
DEVELOPMENT = Settings(example_storefront=False)  # whose key is in the page too
PRODUCTION = Settings(env="production", secret_key="x" * 32)


@dataclass
class Resolver(FakeStoreResolver):
    """Share every address but `demo.example` between the stores."""

    stores: tuple[Store, ...] = ()
    default: Store | None = None
    is_closed: bool = False

    def is_shared(self, host: str) -> bool:
        return not host.startswith("demo.example")

    async def resolve(
        self, host: str, tenant_header: str | None, *, public: bool, allow_maintenance: bool = False
    ) -> Store:
        if self.is_closed:
            raise TenantClosed("tenant_suspended", "Esta loja está suspensa.")
        named = [store for store in self.stores if str(store.public_id) == tenant_header]
        for store in (*named, self.default):
            if store is not None:
                return store
        raise TenantNotFound


async def config_of(tmp_path: Path, resolver: Resolver, settings: Settings, host: str) -> dict[str, Any]:
    """Return the store and whether one is needed, in the page's configuration."""
    (tmp_path / "version").write_text("0" * 16)
    async with run_server(settings=settings, store_resolver=resolver) as server:
        server.app._state[BUILT_KEY] = tmp_path  # the application is frozen
        page = (await server.get("/graphql/playground", Host=host)).body.decode()
    script = re.search(r'id="config">(.*?)</script>', page)
    assert script is not None
    config = json.loads(script[1])
    return {name: config[name] for name in ("store", "needsStore")}


@pytest.mark.parametrize(
    "resolver,settings,host,store,needed",
    [
        (Resolver(stores=(DEMO,)), DEVELOPMENT, "localhost", DEMO_STORE_ID, True),
        (Resolver(stores=(DEMO,), default=DEFAULT), DEVELOPMENT, "localhost", str(DEFAULT.public_id), False),
        (Resolver(), DEVELOPMENT, "localhost", "", True),
        (Resolver(is_closed=True, stores=(DEMO,)), DEVELOPMENT, "localhost", "", True),
        (Resolver(stores=(DEMO,)), PRODUCTION, "localhost", "", True),
        (Resolver(default=DEFAULT), PRODUCTION, "localhost", str(DEFAULT.public_id), False),
        (Resolver(stores=(DEMO,)), DEVELOPMENT, "demo.example", "", False),
    ],
)
async def test_the_page_offers_the_default_or_demo_store_or_asks_for_one(
    resolver: Resolver, settings: Settings, host: str, store: str, needed: bool, tmp_path: Path
) -> None:
    assert await config_of(tmp_path, resolver, settings, host) == {"store": store, "needsStore": needed}
