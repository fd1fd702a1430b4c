"""Stores with sample data: one is filled through the domain, the others are cloned from it."""

from __future__ import annotations

import random
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any, TypeAlias
from uuid import UUID

import pytest
from yarl import URL

from auth.sessions import SessionTokens
from auth.storefront_keys import create_storefront_key
from kernel.ids import uuid7
from kernel.scope import Scope, Store, active_scope
from kernel.signatures import token_hash
from models.connection import database
from models.tables.catalog import Product
from server.embedded_postgres import EmbeddedServer
from tests.harness.cloning import Cloner
from tests.harness.http import Client, HttpClient, Requests, Response, bearer
from tests.harness.records import NamedRecord, Record, UserRecord, add_user, record_of, sign_in
from tests.harness.sample_records import (
    SANDBOX_BUREAU,
    create_sample_records,
    language_code,
    place,
    setting_records,
)
from tests.harness.scopes import StoreAccess, system_scope, unused_ip

# Higher than any number in another sample store.
DISTANCE = 1_000_000


@dataclass
class SampleStore(StoreAccess, Requests):
    """A store with sample data, whose records are attributes; requests are the owner's unless said otherwise."""

    http: HttpClient
    store: Store
    host: str
    ip: str = field(default_factory=unused_ip)
    records: dict[str, Any] = field(default_factory=dict)
    tokens: dict[int, SessionTokens] = field(default_factory=dict)

    def __getattr__(self, name: str) -> Any:
        try:
            return self.__dict__["records"][name]
        except KeyError:
            raise AttributeError(name) from None

    @property
    def scope(self) -> Scope:  # type: ignore[override]
        """Return a new scope with all privileges."""
        return system_scope(self.store)

    @property
    def anonymous(self) -> Client:
        return Client(self.http, self.store, ip=self.ip)

    async def shopper(self) -> Client:
        """Return a visitor with a storefront key that reads the catalogue and fills carts."""
        if "storefront_key" not in self.records:
            with active_scope(self.scope):
                created = await create_storefront_key(self.scope, {"name": "loja", "per_address": 0})
            self.records["storefront_key"] = created.key
        return Client(self.http, self.store, {"X-API-Key": self.records["storefront_key"]}, self.ip)

    async def request(
        self,
        method: str,
        path: str | URL,
        json: Any = None,
        *,
        auth: str | None = "basic",
        by: UserRecord | None = None,
        at: SampleStore | None = None,
        **options: Any,
    ) -> Response:
        """Send a request as a user, with legacy Basic or Bearer credentials or none, to this store or another."""
        user = by or self.owner
        credentials: dict[str, str] = {}
        if auth is not None:
            credentials = {"Authorization": user.basic} if auth == "basic" else bearer(await self.token(user))
        client = Client(self.http, (at or self).store, credentials, self.ip)
        return await client.request(method, path, json, **options)

    async def token(self, user: UserRecord) -> str:
        """Return the user's access token; signing in takes a password check, so it is done at first use and before expiry."""
        session = self.tokens.get(user.number)
        if session is None or session.expires_at < datetime.now(UTC) + timedelta(minutes=5):
            session = self.tokens[user.number] = await sign_in(self.store, user)
        return session.access_token

    async def client(self, user: UserRecord) -> Client:
        return Client(self.http, self.store, bearer(await self.token(user)), self.ip, user)

    async def add(self, model: Any, **columns: Any) -> Record:
        """Insert a row of a model."""
        with active_scope(self.scope):
            return record_of(await model.create(**columns))

    async def add_user(self, *privileges: str, key: bool = True, **columns: Any) -> UserRecord:
        return await add_user(self.store, *privileges, key=key, **columns)

    async def add_product(self, **columns: Any) -> Record:
        """Insert a product with a price and stock."""
        number = random.randrange(10**9)
        values = {
            "name": f"Coisa {number}",
            "slug": f"coisa-{number}",
            "price_cents": 1_000,
            "on_hand": 100,
            "vendor_id": self.vendor.number,
        }
        return await self.add(Product, **values | columns)

    async def place_order(self, *lines: tuple[Record, int], **draft: Any) -> Record:
        """Place an order of these quantities of products through the domain, as the system."""
        scope = self.scope
        with active_scope(scope):
            return await place(scope, self.records, *lines, **draft)


NewSampleStore: TypeAlias = Callable[..., Awaitable[SampleStore]]


@pytest.fixture(scope="session")
async def new_sample(http: HttpClient, postgres: EmbeddedServer, database_name: str) -> AsyncIterator[NewSampleStore]:
    """Return a function that creates a store with sample data; keywords are settings of the store.

    The records of all these stores have the same numbers, except with `offset`, which is added to them. With `combination` mugs have one.
    """
    cloners: dict[bool, tuple[Cloner, SampleStore]] = {}

    async def create(*, offset: int = 0, combination: bool = False, **settings: Any) -> SampleStore:
        if combination not in cloners:
            filled = await filled_store(http, combination=combination)
            unique_texts = [*_key_hashes(filled.records).values(), filled.language.name]
            cloner = Cloner(postgres.superuser_url(database_name), filled.store, unique_texts)
            cloners[combination] = cloner, filled
        cloner, original = cloners[combination]
        settings = {"credit_bureau_url": SANDBOX_BUREAU} | settings
        public_id, host = _new_names()
        keys = {hash_: uuid7().hex for hash_ in _key_hashes(original.records).values()}
        language = language_code()
        texts = {hash_: token_hash(key).hex() for hash_, key in keys.items()} | {original.language.name: language}
        owner = original.owner.number + offset
        number, public_ids = await cloner.clone(public_id, host, owner, settings, texts, offset)
        sample = SampleStore(http, Store(number, public_id, "Loja", settings=settings), host)
        for name, record in original.records.items():
            changes: dict[str, Any] = {}
            if isinstance(record, UserRecord) and record.api_key:
                changes = {"api_key": keys[token_hash(record.api_key).hex()]}
            elif isinstance(record, NamedRecord):
                shifted = re.sub(r"\d+", lambda match: str(int(match.group()) + offset), record.name)
                changes = {"name": texts.get(record.name, shifted)}
            sample.records[name] = replace(
                record, number=record.number + offset, id=str(public_ids.get(record.id, record.id)), **changes
            )
        sample.records |= await setting_records(sample.scope)  # their ids are not those of rows
        return sample

    yield create
    for cloner, _ in cloners.values():
        await cloner.close()


async def filled_store(http: HttpClient, *, combination: bool = False) -> SampleStore:
    """Create a store with sample data through the domain."""
    public_id, host = _new_names()
    async with database.cross_store_connection() as connection:
        number = await connection.fetchval(
            "insert into tenants (public_id, name) values ($1, 'Loja') returning id", public_id
        )
        await connection.execute("insert into store_hosts (host, store_id) values ($1, $2)", host, number)
    sample = SampleStore(http, Store(number, public_id, "Loja"), host)
    sample.records.update(await create_sample_records(sample.scope, combination=combination))
    async with database.cross_store_connection() as connection:
        await connection.execute("update tenants set owner_id = $2 where id = $1", number, sample.owner.number)
    return sample


def _new_names() -> tuple[UUID, str]:
    """Return the UUID and the host name of a new store."""
    public_id = uuid7()
    return public_id, f"store-{public_id.hex}.test"


def _key_hashes(records: Mapping[str, Any]) -> dict[str, str]:
    """Map each user with an API key to the key's hash as PostgreSQL writes it."""
    return {
        name: token_hash(record.api_key).hex()
        for name, record in records.items()
        if isinstance(record, UserRecord) and record.api_key
    }


def _has_combination(request: pytest.FixtureRequest) -> bool:
    """Return whether the test is marked: its mugs are sold in a combination."""
    return request.node.get_closest_marker("combination") is not None


@pytest.fixture
async def sample(new_sample: NewSampleStore, request: pytest.FixtureRequest) -> SampleStore:
    """Return a new store with sample data."""
    return await new_sample(combination=_has_combination(request))


@pytest.fixture
async def other_sample(new_sample: NewSampleStore, request: pytest.FixtureRequest) -> SampleStore:
    """Return another one, whose records the first must never read or change although they have the same numbers."""
    return await new_sample(combination=_has_combination(request))


@pytest.fixture
async def distant_sample(new_sample: NewSampleStore, request: pytest.FixtureRequest) -> SampleStore:
    """Return another one, whose records have numbers that the first doesn't have."""
    return await new_sample(offset=DISTANCE, combination=_has_combination(request))


@pytest.fixture(scope="session")
async def shared_sample(new_sample: NewSampleStore) -> SampleStore:
    """Return a store with sample data for tests that change none of it: they read, or are rejected."""
    return await new_sample(combination=True)


@pytest.fixture(scope="session")
async def other_shared_sample(new_sample: NewSampleStore) -> SampleStore:
    """Return another such store."""
    return await new_sample(combination=True)


@pytest.fixture(scope="session")
async def distant_shared_sample(new_sample: NewSampleStore) -> SampleStore:
    """Return another such store, whose records have other numbers."""
    return await new_sample(offset=DISTANCE, combination=True)
