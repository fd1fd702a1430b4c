"""Make the demo stores, or put them right again, and hand out credentials for them (decisions section 9).

Run twice it finds the stores and the ids of the first time; what is stored hashed can't be printed again, so it is new each time.
A store that was not filled to the end (somebody pressed Ctrl-C) is emptied and filled anew.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import asyncpg

from domain import stores
from kernel.clock import now
from kernel.errors import RuleViolation
from kernel.ids import uuid7
from kernel.scope import Store, entered
from kernel.settings import Settings
from models import database
from server import operating
from server.database import DatabaseLocation
from server.demo import credentials, programs
from server.demo.acting import StoreOwner
from server.demo.clearing import clear
from server.demo.credentials import Credentials
from server.demo.filling import fill
from server.demo.gateway import secret_of
from server.demo.stores import DEMO, MAINTENANCE, OTHER, STORES, SUSPENDED, DemoStore
from server.running import public_url

_LOCK = 0x5649_5452_4445_4D4F  # "VITRDEMO"

# The mark of a store that was filled to the end: what these rows are called outside, which is what the table is for.
_SOURCE, _KIND = "vitrine demo", "store"
_IS_FILLED = """
    select exists (select from external_references where tenant_id = $1 and source = $2 and kind = $3)
"""
_MARK = """
    insert into external_references (tenant_id, public_id, source, kind, external_id, local_id)
    values ($1, $2, $3, $4, $5, $1)
"""


@dataclass(frozen=True, slots=True)
class Demo:
    """Hold what `vitrine demo --json` prints, and which stores were filled just now."""

    json: Mapping[str, Any]
    filled: tuple[str, ...]


async def is_due() -> bool:
    """Say whether there is no store yet, or nothing but demo stores that were not all made to the end."""
    found = {each.store.public_id: each.store for each in await operating.list_stores()}
    if found.keys() - {demo.public_id for demo in STORES}:
        return False
    for demo in STORES:
        store = found.get(demo.public_id)
        if store is None or (demo.shop is not None and not await _is_filled(store)):
            return True
    return False


async def make(settings: Settings, place: DatabaseLocation, *, reset: bool = False) -> Demo:
    """Make what is missing (with `reset`, everything anew) and give new credentials; one process at a time.

    Needs the database connected and credentials configured. Refused in production.
    """
    if settings.is_production:
        raise RuleViolation(
            "the demo has well-known addresses and is for development: VITRINE_ENV is production"
        )
    async with _alone(place):
        filled: list[str] = []
        made: dict[str, tuple[Store, dict[str, Credentials]]] = {}
        for demo in STORES:
            store = await _ensure_store(settings, demo)
            made[demo.key] = store, await _furnish(place, demo, store, reset=reset, filled=filled)
        platform_user = await credentials.renew_platform_user()
        shown = {
            "base_url": public_url(settings),
            **await _demo_json(*made[DEMO.key]),
            "other_store": await _other_json(*made[OTHER.key]),
            "suspended_store": _address(SUSPENDED),
            "maintenance_store": _address(MAINTENANCE),
            "platform_user": platform_user,
        }
    return Demo(shown, tuple(filled))


@asynccontextmanager
async def _alone(place: DatabaseLocation) -> AsyncIterator[None]:
    """Wait until nobody else makes the demo; the lock goes with its connection."""
    connection = await asyncpg.connect(place.owner_url)
    try:
        await connection.execute("select pg_advisory_lock($1)", _LOCK)
        yield
    finally:
        await connection.close()


async def _ensure_store(settings: Settings, demo: DemoStore) -> Store:
    """Give the store, made if need be, at its address and in its state."""
    present = {each.store.public_id: each for each in await operating.list_stores()}.get(demo.public_id)
    if present is None:
        operating.refuse_shared([demo.host], settings.shared_hosts)
        new = await stores.create_store({"name": demo.name}, hosts=[demo.host], public_id=demo.public_id)
        store = new.store
    else:
        store = present.store
        if demo.host not in present.hosts:
            await stores.add_host(store.id, demo.host)
    if store.status != demo.status or (demo.message and store.maintenance_message != demo.message):
        store = await stores.change_status(store.id, demo.status, message=demo.message)
    return store


async def _furnish(
    place: DatabaseLocation, demo: DemoStore, store: Store, *, reset: bool, filled: list[str]
) -> dict[str, Credentials]:
    """Fill the store unless it is, and renew the credentials of those who live there."""
    if not demo.personas:
        return {}
    is_filled = not reset and await _is_filled(store)
    if not is_filled:
        await clear(place.owner_url, store)
        store = await stores.find_store(store.id)
    owner = await credentials.install_owner(store, demo.personas[0])
    owner = StoreOwner(await stores.find_store(store.id), owner.user)
    if not is_filled:
        await fill(owner, demo, now())
        await _mark(store, demo)
        filled.append(demo.name)
    return await credentials.renew(owner, demo)


async def _is_filled(store: Store) -> bool:
    with entered(operating.system_scope(store)):
        return bool(await database.value(_IS_FILLED, store.id, _SOURCE, _KIND))


async def _mark(store: Store, demo: DemoStore) -> None:
    with entered(operating.system_scope(store)):
        await database.execute(_MARK, store.id, uuid7(), _SOURCE, _KIND, demo.key)


# --- What is printed -------------------------------------------------------------------------------------------------------


async def _demo_json(store: Store, people: Mapping[str, Credentials]) -> dict[str, Any]:
    named = {key: people[key].as_json() for key in ("admin", "staff", "vendor", "customer", "two_factor")}
    barred = {key: _sign_in_only(people[key]) for key in ("unverified", "disabled", "pending")}
    first, second = people["shared_a"], people["shared_b"]
    shared = {
        "identifier": first.persona.cpf,
        "password": first.password,
        "emails": [first.persona.email, second.persona.email],
    }
    return {
        **_address(DEMO),
        **named,
        **barred,
        "shared_cpf": shared,
        **await programs.renew(StoreOwner(store, people["admin"].user)),
        "gateway": {"secret_key": await secret_of(store)},
    }


async def _other_json(store: Store, people: Mapping[str, Credentials]) -> dict[str, Any]:
    admin = people["admin"]
    return {
        **_address(OTHER),
        "admin": admin.as_json(),
        **await programs.renew(StoreOwner(store, admin.user)),
    }


def _sign_in_only(who: Credentials) -> dict[str, str]:
    return {"email": who.persona.email, "password": who.password}


def _address(demo: DemoStore) -> dict[str, str]:
    return {"tenant_id": str(demo.public_id), "host": demo.host}
