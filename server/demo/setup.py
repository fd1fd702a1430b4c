"""Create or restore the demo stores and print credentials (docs/reference/shared.md#demo-stores).

Repeated runs keep the stores and ids; secrets that are stored hashed are renewed each time. A store whose creation was interrupted is
emptied and created again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from domain import hosts, stores
from kernel.clock import now
from kernel.errors import RuleViolation
from kernel.ids import uuid7
from kernel.scope import Store, active_scope
from kernel.settings import Settings
from models.connection import database
from server.address_file import public_url
from server.database import DatabaseLocation
from server.demo import apps, credentials
from server.demo.credentials import Credentials
from server.demo.deletion import delete_store_rows
from server.demo.gateway import ensure_secret
from server.demo.owner import DemoOwner
from server.demo.seeding import seed_store
from server.demo.stores import DEMO, MAINTENANCE, OTHER, STORES, SUSPENDED, DemoStore
from server.exclusive import exclusive
from server.operations import store_admin

PICTURES = "demo-pictures"
"""The folder in the data directory that keeps rendered pictures."""

# Marks a completely created store: external references name a row in another system.
_MARKER_SOURCE, _MARKER_KIND = "vitrine demo", "store"
_IS_COMPLETE = """
    select exists (select from external_references where tenant_id = $1 and source = $2 and kind = $3)
"""
_INSERT_MARKER = """
    insert into external_references (tenant_id, public_id, source, kind, external_id, local_id)
    values ($1, $2, $3, $4, $5, $1)
"""


@dataclass(frozen=True, slots=True)
class DemoResult:
    """The output of `vitrine demo --json`, and the names of stores created in this run."""

    json: Mapping[str, Any]
    created: tuple[str, ...]


async def is_setup_due() -> bool:
    """Return whether there are no stores except incomplete demo stores."""
    existing = {entry.store.public_id: entry.store for entry in await store_admin.list_stores()}
    if existing.keys() - {demo.public_id for demo in STORES}:
        return False
    for demo in STORES:
        store = existing.get(demo.public_id)
        if store is None or (demo.catalog is not None and not await _is_complete(store)):
            return True
    return False


async def set_up_demo(settings: Settings, location: DatabaseLocation, *, reset: bool = False) -> DemoResult:
    """Create what is missing (with `reset`, everything) and renew credentials; one process at a time.

    Needs the database connected and credentials configured. Rejected in production.
    """
    if settings.is_production:
        raise RuleViolation("the demo has well-known addresses and is for development: VITRINE_ENV is production")
    async with exclusive(location.owner_url, "demo stores"):
        created: list[str] = []
        results: dict[str, tuple[Store, dict[str, Credentials]]] = {}
        for demo in STORES:
            store = await _ensure_store(demo)
            results[demo.key] = store, await _ensure_data(settings, location, demo, store, reset=reset, created=created)
        platform_user = await credentials.renew_platform_user()
        output = {
            "base_url": public_url(settings),
            **await _demo_json(*results[DEMO.key]),
            "other_store": await _other_json(*results[OTHER.key]),
            "suspended_store": _address(SUSPENDED),
            "maintenance_store": _address(MAINTENANCE),
            "platform_user": platform_user,
        }
    return DemoResult(output, tuple(created))


async def _ensure_store(demo: DemoStore) -> Store:
    """Return the store, created if missing, with its host and status."""
    existing = {entry.store.public_id: entry for entry in await store_admin.list_stores()}.get(demo.public_id)
    if existing is None:
        new = await stores.create_store({"name": demo.name}, hosts=[demo.host], public_id=demo.public_id)
        store = new.store
    else:
        store = existing.store
        if demo.host not in existing.hosts:
            await hosts.add_host(store.id, demo.host)
    if store.status != demo.status or (demo.message and store.maintenance_message != demo.message):
        store = await stores.change_status(store.id, demo.status, message=demo.message)
    return store


async def _ensure_data(
    settings: Settings,
    location: DatabaseLocation,
    demo: DemoStore,
    store: Store,
    *,
    reset: bool,
    created: list[str],
) -> dict[str, Credentials]:
    """Create the store's data unless complete, and renew the credentials of its users."""
    if not demo.personas:
        return {}
    is_complete = not reset and await _is_complete(store)
    if not is_complete:
        await delete_store_rows(location.owner_url, store)
        store = await stores.find_store(store.id)
    owner = await credentials.ensure_owner(store, demo.personas[0])
    owner = DemoOwner(await stores.find_store(store.id), owner.user)
    if not is_complete:
        await seed_store(owner, demo, now(), settings.data_dir / PICTURES)
        await _insert_marker(store, demo)
        created.append(demo.name)
    return await credentials.renew(owner, demo)


async def _is_complete(store: Store) -> bool:
    with active_scope(store_admin.system_scope(store)):
        return bool(await database.fetchval(_IS_COMPLETE, store.id, _MARKER_SOURCE, _MARKER_KIND))


async def _insert_marker(store: Store, demo: DemoStore) -> None:
    with active_scope(store_admin.system_scope(store)):
        await database.execute(_INSERT_MARKER, store.id, uuid7(), _MARKER_SOURCE, _MARKER_KIND, demo.key)


# --- Output ----------------------------------------------------------------------------------------------------------------


async def _demo_json(store: Store, users: Mapping[str, Credentials]) -> dict[str, Any]:
    active = {key: users[key].as_json() for key in ("admin", "staff", "vendor", "customer", "two_factor")}
    blocked = {key: _sign_in_only(users[key]) for key in ("unverified", "disabled", "pending")}
    first, second = users["shared_a"], users["shared_b"]
    shared = {
        "identifier": first.persona.cpf,
        "password": first.password,
        "emails": [first.persona.email, second.persona.email],
    }
    return {
        **_address(DEMO),
        **active,
        **blocked,
        "shared_cpf": shared,
        **await apps.renew(DemoOwner(store, users["admin"].user)),
        "gateway": {"secret_key": await ensure_secret(store)},
    }


async def _other_json(store: Store, users: Mapping[str, Credentials]) -> dict[str, Any]:
    admin = users["admin"]
    return {**_address(OTHER), "admin": admin.as_json(), **await apps.renew(DemoOwner(store, admin.user))}


def _sign_in_only(user: Credentials) -> dict[str, str]:
    return {"email": user.persona.email, "password": user.password}


def _address(demo: DemoStore) -> dict[str, str]:
    return {"tenant_id": str(demo.public_id), "host": demo.host}
