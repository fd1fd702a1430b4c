"""Make, find and close stores, as the platform's operator: the work behind `vitrine tenant` and the demo."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from asyncpg import Record

from auth.secrets import Unreadable, decrypt, encrypt
from auth.tenancy import CHANNEL, host_name, store_changed, store_from
from domain import audit
from domain.fields import read_fields
from domain.people import accounts
from domain.people.account_fields import FIELDS, with_name_split
from kernel.clock import now
from kernel.errors import ValidationFailed
from kernel.ids import parse_uuid, random_token, uuid7
from kernel.scope import SYSTEM, Scope, Store, entered
from models import database
from models.database import AcrossStores
from server.commands.refusals import CommandRefused

GATEWAY_PURPOSE = "gateway-secret"
ACTIVE, SUSPENDED, MAINTENANCE = "A", "S", "M"
STATES: Mapping[str, str] = {ACTIVE: "active", SUSPENDED: "suspended", MAINTENANCE: "in maintenance"}
_AUDITED = {ACTIVE: "store.resumed", SUSPENDED: "store.suspended", MAINTENANCE: "store.maintenance_begun"}


@dataclass(frozen=True, slots=True)
class StoreAtHosts:
    """Describe a store with the addresses it answers at."""

    store: Store
    hosts: tuple[str, ...]
    created_at: datetime

    def as_json(self) -> dict[str, Any]:
        """Give what `--json` shows of a store."""
        return {
            "tenant_id": str(self.store.public_id),
            "name": self.store.name,
            "status": self.store.status,
            "currency": self.store.currency,
            "hosts": list(self.hosts),
            "maintenance_message": self.store.maintenance_message,
            "created_at": self.created_at.isoformat(timespec="seconds").replace("+00:00", "Z"),
        }


@dataclass(frozen=True, slots=True)
class Owner:
    """Describe who shall own a new store."""

    email: str
    password: str
    name: str = ""


@dataclass(frozen=True, slots=True)
class NewStore:
    """Tell of a store that was made; `gateway_secret` and the owner's id are there to be handed on."""

    made: StoreAtHosts
    gateway_secret: str
    owner_id: UUID | None


def system_scope(store: Store, *, at: datetime | None = None) -> Scope:
    """Give a scope in which the platform itself works in the store, now or at another moment."""
    return Scope(store=store, actor=SYSTEM, request_id=f"cli-{uuid7()}", now=at or now())


# --- Finding ---------------------------------------------------------------------------------------------------------------

_WITH_HOSTS = """
    select t.*, array(select host from store_hosts h where h.store_id = t.id order by host) as hosts from tenants t
"""


async def list_stores() -> list[StoreAtHosts]:
    """List every store, the oldest first."""
    async with database.across_stores() as platform:
        return [_with_hosts(found) for found in await platform.rows(_WITH_HOSTS + " order by t.id")]


async def find_store(named: str) -> Store:
    """Give the store with the UUID or at the address; raises CommandRefused when there is none."""
    async with database.across_stores() as platform:
        return (await _find(platform, named)).store


async def _find(platform: AcrossStores, named: str) -> StoreAtHosts:
    public_id, host = parse_uuid(named.strip()), host_name(named)
    found = await platform.row(
        _WITH_HOSTS + " where t.public_id = $1 or t.id = (select store_id from store_hosts where host = $2)",
        public_id,
        None if public_id else host,
    )
    if found is None:
        raise CommandRefused(
            f"there is no store {named!r}; expected a UUID or an address from vitrine tenant list"
        )
    return _with_hosts(found)


def _with_hosts(found: Record) -> StoreAtHosts:
    return StoreAtHosts(store_from(found), tuple(found["hosts"]), found["created_at"])


# --- Making ----------------------------------------------------------------------------------------------------------------


async def create_store(
    name: str,
    *,
    hosts: Sequence[str] = (),
    shared_hosts: Sequence[str] = (),
    currency: str = "BRL",
    owner: Owner | None = None,
    public_id: UUID | None = None,
) -> NewStore:
    """Make a store with a secret for its payment gateway and, when given, the user who owns it.

    Raises CommandRefused or ValidationFailed for what is wrong, before anything is made.
    """
    if not name.strip():
        raise CommandRefused("the store needs a name")
    if not (len(currency) == 3 and currency.isascii() and currency.isalpha()):
        raise CommandRefused(f"the currency is {currency!r}; expected an ISO 4217 code such as BRL")
    if owner is not None:
        read_fields(FIELDS, _account_of(owner), creating=True)
    addresses = check_hosts(hosts, shared_hosts)
    secret = random_token(256)
    async with database.across_stores() as platform, platform.transaction():
        record = await platform.row(
            """
            insert into tenants (public_id, name, currency, gateway_secret) values ($1, $2, $3, $4)
            returning *, '{}'::text[] as hosts
            """,
            public_id or uuid7(),
            name.strip(),
            currency.upper(),
            encrypt(GATEWAY_PURPOSE, secret.encode()),
        )
        assert record is not None
        await add_hosts(platform, record["id"], addresses)
    made = StoreAtHosts(store_from(record), tuple(addresses), record["created_at"])
    owner_id = None
    if owner is not None:
        try:
            owner_id = await make_owner(made.store, owner)
        except BaseException:
            await _unmake(made.store)
            raise
    return NewStore(made, secret, owner_id)


def check_hosts(hosts: Sequence[str], shared_hosts: Sequence[str]) -> list[str]:
    """Give the addresses in the form they are kept in; refuse one that is no host, or one at which X-Tenant-ID decides."""
    checked: list[str] = []
    for given in hosts:
        name = host_name(given)
        if name is None:
            raise CommandRefused(f"the address is {given!r}; expected a host such as loja.example")
        if name in shared_hosts:
            raise CommandRefused(f"{name} is a shared address (VITRINE_SHARED_HOSTS): no store can have it")
        if name not in checked:
            checked.append(name)
    return checked


async def add_hosts(platform: AcrossStores, store_id: int, hosts: Sequence[str]) -> None:
    """Let the store answer at the addresses; those it has already are fine, those of others are refused."""
    for host in hosts:
        taken = await platform.value(
            """
            insert into store_hosts (host, store_id) values ($1, $2)
            on conflict (host) do update set host = excluded.host returning store_id
            """,
            host,
            store_id,
        )
        if taken != store_id:
            raise CommandRefused(f"{host} is the address of another store")
    await platform.execute("select pg_notify($1, $2)", CHANNEL, str(store_id))


async def make_owner(store: Store, owner: Owner) -> UUID:
    """Make the administrator who owns the store and give its id."""
    scope = system_scope(store)
    with entered(scope):
        async with database.transaction(scope):
            user = await accounts.create_user(scope, _account_of(owner))
            await set_owner(scope, user.id)
    return user.public_id


async def set_owner(scope: Scope, user_id: int) -> None:
    """Give the store to one of its administrators; joins the open transaction."""
    kind = await database.value(
        "select user_type from users where tenant_id = $1 and id = $2", scope.store.id, user_id
    )
    if kind != "A":
        raise ValidationFailed(
            "only an administrator can own a store", field="type", code="not_an_administrator"
        )
    await database.execute("update tenants set owner_id = $2 where id = $1", scope.store.id, user_id)
    await audit.record(scope, "store.owner_set", "user", user_id)
    await store_changed(scope.store.id)


def _account_of(owner: Owner) -> dict[str, Any]:
    given = {"email": owner.email, "password": owner.password, "user_type": "A"}
    return with_name_split({**given, "name": owner.name} if owner.name else given)


async def _unmake(store: Store) -> None:
    async with database.across_stores() as platform:
        await platform.execute("delete from tenants where id = $1", store.id)


# --- Opening and closing ---------------------------------------------------------------------------------------------------


async def set_state(named: str, status: str, message: str | None = None) -> StoreAtHosts:
    """Open, suspend or maintain a store, seen by every process within 1 s; the message is for its shoppers."""
    async with database.across_stores() as platform, platform.transaction():
        present = await _find(platform, named)
        if status == MAINTENANCE and present.store.status == SUSPENDED:
            raise CommandRefused(f"{present.store.name} is suspended; resume it first")
        await platform.execute(
            "update tenants set status = $2, maintenance_message = $3 where id = $1",
            present.store.id,
            status,
            message if status == MAINTENANCE else None,
        )
        await platform.execute("select pg_notify($1, $2)", CHANNEL, str(present.store.id))
        changed = await _find(platform, str(present.store.public_id))
    scope = system_scope(changed.store)
    async with database.transaction(scope):
        await audit.record(scope, _AUDITED[status], "store", changed.store.public_id)
    return changed


# --- The gateway's secret --------------------------------------------------------------------------------------------------


async def gateway_secret(store: Store) -> str | None:
    """Give the secret that signs the store's gateway notifications; None when it was emptied or can't be read."""
    async with database.across_stores() as platform:
        sealed = await platform.value("select gateway_secret from tenants where id = $1", store.id)
    try:
        return None if sealed is None else decrypt(GATEWAY_PURPOSE, bytes(sealed)).decode()
    except Unreadable:
        return None


async def renew_gateway_secret(store: Store) -> str:
    """Give the store a new secret for its gateway notifications."""
    secret = random_token(256)
    async with database.across_stores() as platform:
        await platform.execute(
            "update tenants set gateway_secret = $2 where id = $1",
            store.id,
            encrypt(GATEWAY_PURPOSE, secret.encode()),
        )
    return secret
