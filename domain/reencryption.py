"""Encrypt stored values under the present VITRINE_SECRET_KEY, while the server runs (docs/deploy.md#rotate-the-secret-key).

Each value is replaced only if it is still the one that was read, so a concurrent change is never lost. A run that was interrupted is
continued by the next one, which skips what is done.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Protocol
from uuid import UUID

from asyncpg import Connection, Record

from auth import hash_keys, signing_keys, two_factor_codes
from auth.secrets import (
    APP_SECRET_PURPOSE,
    ORDER_TOKEN_PURPOSE,
    DecryptionError,
    is_encrypted,
    key_id,
    reencrypt,
    secret_keys,
)
from auth.store_resolution import build_store
from domain import event_feed, idempotency, store_settings
from domain.carriers import params as rate_params
from domain.mails import outbox
from domain.payments import methods
from domain.people import newsletter, stock_notices
from domain.store_settings import STORE_SETTINGS
from domain.stores import GATEWAY_PURPOSE
from kernel.clock import now
from kernel.ids import uuid7
from kernel.scope import SYSTEM, Scope, Store, active_scope
from models.connection import database

BATCH_SIZE = 100


@dataclass(frozen=True, slots=True)
class EncryptedColumn:
    """A column with values of `auth.secrets.encrypt`; `member` is the one inside a JSON object, in hexadecimal like `is_hex` text.

    `key` identifies a row, `label` names it to the operator. Values that expire within a day are plain where they are older than their
    encryption.
    """

    table: str
    column: str
    purpose: str
    is_platform: bool = False
    key: str = "id"
    key_type: str = "bigint"
    label: str = "public_id"
    is_hex: bool = False
    member: str = ""
    expires: bool = False

    @property
    def name(self) -> str:
        """Return the table and column, as shown to the operator."""
        return ".".join(filter(None, (self.table, self.column, self.member)))

    @property
    def first_key(self) -> Any:
        """Return a key before those of all rows."""
        return "" if self.key_type == "text" else 0

    def decode(self, stored: Any) -> bytes | None:
        """Return the bytes of a stored value, None if it is older than encryption; raise `DecryptionError` for broken text."""
        if self.expires and isinstance(stored, str) and stored.startswith("{"):
            return None
        try:
            encrypted = bytes.fromhex(stored) if isinstance(stored, str) else bytes(stored)
        except ValueError as error:
            raise DecryptionError(f"{self.name} is not hexadecimal") from error
        return None if self.expires and not is_encrypted(encrypted) else encrypted

    def encode(self, encrypted: bytes) -> bytes | str:
        """Return the bytes as they are stored."""
        return encrypted.hex() if self.is_hex else encrypted

    def read_sql(self) -> str:
        """Return the statement that reads a batch after the key $1, in a store's table of the store $2."""
        of_store = "" if self.is_platform else "and t.tenant_id = $2"
        return f"""
            select t.{self.key} as key, t.{self.label}::text as label, {self._value()} as stored from {self.table} t
            where t.{self.key} > $1 {of_store} and {self._value()} <> '' order by t.{self.key} limit {BATCH_SIZE}
        """

    def survey_sql(self) -> str:
        """Return the statement that reads the values of a store's table, of all rows that are visible, with their stores."""
        return f"""
            select t.{self.key} as key, t.{self.label}::text as label, {self._value()} as stored, s.public_id as store
            from {self.table} t join tenants s on s.id = t.tenant_id where {self._value()} <> ''
        """

    def write_sql(self) -> str:
        """Return the statement that replaces the values $2 of the rows $1 by $3, in a store's table of the store $4."""
        of_store = "" if self.is_platform else "and t.tenant_id = $4"
        type_ = "text" if self.is_hex else "bytea"
        new = f"jsonb_set(t.{self.column}, '{{{self.member}}}', to_jsonb(v.new))" if self.member else "v.new"
        return f"""
            update {self.table} t set {self.column} = {new}
            from unnest($1::{self.key_type}[], $2::{type_}[], $3::{type_}[]) as v (key, old, new)
            where t.{self.key} = v.key {of_store} and {self._value()} = v.old
        """

    def _value(self) -> str:
        return f"t.{self.column} ->> '{self.member}'" if self.member else f"t.{self.column}"


ENCRYPTED_COLUMNS = (
    EncryptedColumn(
        "signing_keys", "private_key", signing_keys.PURPOSE, is_platform=True, key="kid", key_type="text", label="kid"
    ),
    EncryptedColumn("hash_keys", "sealed_key", hash_keys.PURPOSE, is_platform=True, label="id"),
    EncryptedColumn("apps", "secret_sealed", APP_SECRET_PURPOSE, is_platform=True),
    EncryptedColumn("apps", "previous_secret_sealed", APP_SECRET_PURPOSE, is_platform=True),
    EncryptedColumn("tenants", "gateway_secret", GATEWAY_PURPOSE, is_platform=True),
    *(
        EncryptedColumn("tenants", "settings", store_settings.PURPOSE, is_platform=True, is_hex=True, member=name)
        for name, setting in STORE_SETTINGS.items()
        if setting.secret
    ),
    EncryptedColumn("payment_methods", "processor_params", methods.PURPOSE),
    EncryptedColumn("shipping_methods", "rate_params", rate_params.PURPOSE),
    EncryptedColumn("two_factors", "secret", two_factor_codes.SECRET_PURPOSE),
    EncryptedColumn("mails", "body", outbox.BODY_PURPOSE),
    EncryptedColumn("idempotency_claims", "result", idempotency.PURPOSE, is_hex=True, expires=True),
    EncryptedColumn("idempotency_claims", "body", idempotency.PURPOSE, expires=True),
)
"""Every encrypted column; tests/domain/test_reencryption.py finds those that are missing."""

LASTING_PURPOSES = (
    two_factor_codes.RECOVERY_PURPOSE,
    ORDER_TOKEN_PURPOSE,
    idempotency.PURPOSE,
    event_feed.CURSOR_PURPOSE,
    *newsletter.TOKEN_PURPOSES,
    stock_notices.TOKEN_PURPOSE,
)
"""The purposes whose keys are retained; lockouts, signed links and cursors of pages don't last longer than an hour."""


@dataclass(slots=True)
class ColumnReport:
    """What a column holds: the number of values, of those under another key of the ring, and the places of unreadable ones."""

    column: EncryptedColumn
    values: int = 0
    outdated: int = 0
    unreadable: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Reencryption:
    """The result of `reencrypt_values`: the columns before and after."""

    before: tuple[ColumnReport, ...]
    after: tuple[ColumnReport, ...]


class RowAccess(Protocol):
    """A connection that reads and writes rows."""

    async def fetch(self, sql: str, *args: Any) -> list[Record]:
        """Run a statement and return its rows."""

    async def execute(self, sql: str, *args: Any) -> object:
        """Run a statement."""


def current_key_id() -> str:
    """Return the id of the secret key in hexadecimal."""
    return key_id(secret_keys().secret_key).hex()


async def reencrypt_values(*, forget_hash_keys: bool = False) -> Reencryption:
    """Encrypt every value under the secret key, then read all again: other processes may have written meanwhile.

    The fallbacks' keys for lasting purposes are retained, or with `forget_hash_keys` all retained ones deleted.
    """
    if forget_hash_keys:
        await hash_keys.forget()
    else:
        await hash_keys.retain(LASTING_PURPOSES)
    before = await _scan(ENCRYPTED_COLUMNS, writes=True)
    return Reencryption(before, await _scan(ENCRYPTED_COLUMNS, writes=False))


async def survey_values(readers: AsyncIterator[Connection]) -> tuple[ColumnReport, ...]:
    """Count the encrypted values by key, without those that expire within a day; changes nothing.

    Each connection shows the rows of some stores, in a transaction; together they show all.
    """
    reports = tuple(ColumnReport(column) for column in ENCRYPTED_COLUMNS if not column.expires)
    await _scan_platform(reports, writes=False)
    async for reader in readers:
        for report in reports:
            if not report.column.is_platform:
                async for row in reader.cursor(report.column.survey_sql(), prefetch=BATCH_SIZE):
                    _count(report, [row], row["store"])
    return reports


async def _scan(columns: tuple[EncryptedColumn, ...], *, writes: bool) -> tuple[ColumnReport, ...]:
    reports = tuple(ColumnReport(column) for column in columns)
    await _scan_platform(reports, writes=writes)
    async for store in _stores():
        for report in reports:
            if not report.column.is_platform:
                await _scan_rows(report, store, writes=writes)
    return reports


async def _scan_platform(reports: tuple[ColumnReport, ...], *, writes: bool) -> None:
    for report in reports:
        if report.column.is_platform:
            await _scan_rows(report, None, writes=writes)


async def _stores() -> AsyncIterator[Store]:
    last = 0
    while True:
        async with database.cross_store_connection() as platform:
            rows = await platform.fetch(f"select * from tenants where id > $1 order by id limit {BATCH_SIZE}", last)
        if not rows:
            return
        for row in rows:
            yield build_store(row)
        last = rows[-1]["id"]


async def reencrypt_relation(connection: RowAccess, column: EncryptedColumn, relation: str) -> ColumnReport:
    """Encrypt a column's values in a copy of its table, which holds the rows of one store, under the secret key."""
    report = ColumnReport(replace(column, table=relation, is_platform=True))
    last: Any = column.first_key
    while last is not None:
        last = await _scan_batch(connection, report, None, last, writes=True)
    return report


async def _scan_rows(report: ColumnReport, store: Store | None, *, writes: bool) -> None:
    last: Any = report.column.first_key
    while last is not None:
        async with _connection(store) as connection:
            last = await _scan_batch(connection, report, store, last, writes=writes)


async def _scan_batch(
    connection: RowAccess, report: ColumnReport, store: Store | None, last: Any, *, writes: bool
) -> Any:
    """Process the rows after a key; return the last one's key, None if there are no more."""
    of_store = () if store is None else (store.id,)
    rows = await connection.fetch(report.column.read_sql(), last, *of_store)
    outdated = _count(report, rows, None if store is None else store.public_id)
    if writes and outdated:
        await _replace(connection, report.column, outdated, of_store)
    return rows[-1]["key"] if len(rows) == BATCH_SIZE else None


@asynccontextmanager
async def _connection(store: Store | None) -> AsyncIterator[RowAccess]:
    if store is None:
        async with database.cross_store_connection() as platform:
            yield platform
        return
    with active_scope(Scope(store=store, actor=SYSTEM, request_id=f"reencryption-{uuid7()}", now=now())):
        yield database


def _count(report: ColumnReport, rows: list[Record], store: UUID | None) -> list[tuple[Any, Any, bytes | str]]:
    """Add the rows to the report; return key, stored value and new value of those under another key."""
    outdated = []
    for row in rows:
        report.values += 1
        try:
            encrypted = report.column.decode(row["stored"])
            new = None if encrypted is None else reencrypt(report.column.purpose, encrypted)
        except DecryptionError:
            of_store = "" if store is None else f" of the store {store}"
            report.unreadable.append(f"{report.column.name} {row['label']}{of_store}")
            continue
        if new is not None:
            report.outdated += 1
            outdated.append((row["key"], row["stored"], report.column.encode(new)))
    return outdated


async def _replace(
    connection: RowAccess, column: EncryptedColumn, rows: list[tuple[Any, Any, bytes | str]], of_store: tuple[int, ...]
) -> None:
    keys, old, new = (list(values) for values in zip(*rows, strict=True))

    async def write() -> None:
        await connection.execute(column.write_sql(), keys, old, new, *of_store)

    await database.retry_conflicts(write)
