"""Persisted documents of a store (docs/reference/graphql.md#persisted-documents).

A caller that registers documents evicts its own only, and those of callers of its kind where all of these together have too many: a visitor
with the public key of a storefront can't take the documents of an app from the store.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import timedelta

from auth.secrets import keyed_hash
from domain.apps.trusted_documents import find_trusted, not_trusted
from kernel.ip_addresses import rate_limit_key
from kernel.scope import Scope
from models.connection import database
from models.rows import insert_row

MAX_OF_KIND = 1_000
"""The documents of all registrars of a kind in a store, the least recently used evicted first."""
# Longer texts are executed but not stored.
MAX_TEXT_LENGTH = 20_000
_PREFIX = "sha256:"
REGISTRAR_PURPOSE = "persisted document"
# An update per document and minute, whatever is read.
_LAST_USED_PRECISION = timedelta(minutes=1)

_TOUCH = "UPDATE persisted_documents SET last_used_at = $3 WHERE tenant_id = $1 AND hash = $2 AND last_used_at < $4"
_EVICT = """
DELETE FROM persisted_documents WHERE tenant_id = $1 AND id IN (
    SELECT id FROM persisted_documents WHERE tenant_id = $1 AND {} = $2 ORDER BY last_used_at DESC, id DESC OFFSET $3
)
"""
_EVICT_OWN, _EVICT_OF_KIND = _EVICT.format("registrar"), _EVICT.format("split_part(registrar, ':', 1)")
# The registrar stays the same, unless a program takes the document over: a visitor could do so with a new address, and evict it.
_REGISTER_AGAIN = """
ON CONFLICT (tenant_id, hash) DO UPDATE SET last_used_at = excluded.last_used_at, registrar = CASE
    WHEN split_part(excluded.registrar, ':', 1) IN ('app', 'key')
        AND split_part(persisted_documents.registrar, ':', 1) NOT IN ('app', 'key') THEN excluded.registrar
    ELSE persisted_documents.registrar END
"""


@dataclass(frozen=True, slots=True)
class Registrar:
    """Who registers documents: its kind, which of them it is, and how many documents it may have."""

    kind: str
    number: object
    quota: int

    @property
    def name(self) -> str:
        """Return the value of the column `registrar`."""
        return f"{self.kind}:{self.number}"


def registrar_of(scope: Scope) -> Registrar:
    """Return who the caller registers documents for: with a public key and no customer, its address."""
    actor = scope.actor
    if actor.installation_id is not None:
        return Registrar("app", actor.installation_id, 500)
    if actor.user_id is not None:
        return Registrar("user", actor.user_id, 100)
    if actor.server_side:
        return Registrar("key", actor.storefront_key_id, 500)
    return Registrar("visitor", keyed_hash(REGISTRAR_PURPOSE, rate_limit_key(scope.client_ip)), 200)


def _hash(document_id: str) -> bytes | None:
    try:
        digest = bytes.fromhex(document_id.removeprefix(_PREFIX)) if document_id.startswith(_PREFIX) else b""
    except ValueError:
        return None
    return digest if len(digest) == 32 else None


async def find_document(scope: Scope, document_id: str) -> str | None:
    """Return the document registered as `sha256:<hex>`, a trusted one of the caller or any of the store, or None."""
    digest = _hash(document_id)
    if digest is None:
        return None
    trusted = await find_trusted(scope, digest)
    if trusted is not None:
        return trusted
    record = await database.fetchrow(
        "SELECT text, last_used_at FROM persisted_documents WHERE tenant_id = $1 AND hash = $2", scope.store.id, digest
    )
    if record is None:
        return None
    unused_since = scope.now - _LAST_USED_PRECISION
    if record["last_used_at"] < unused_since:
        await database.execute(_TOUCH, scope.store.id, digest, scope.now, unused_since)
    return str(record["text"])


async def trusted_text(scope: Scope, text: str | None, document_id: str) -> str:
    """Return the trusted document with a text, or else an id; raise `Forbidden` for another one."""
    digest = hashlib.sha256(text.encode()).digest() if text else _hash(document_id)
    trusted = await find_trusted(scope, digest) if digest is not None else None
    if trusted is None:
        raise not_trusted()
    return trusted


async def save_document(scope: Scope, document_id: str, text: str) -> None:
    """Register a document under its hash for the caller, who has its quota of the most recently used."""
    digest = _hash(document_id)
    if digest is None or len(text) > MAX_TEXT_LENGTH:
        return
    registrar = registrar_of(scope)
    values = {"hash": digest, "text": text, "last_used_at": scope.now, "registrar": registrar.name}
    async with database.transaction(scope):
        await insert_row(scope, "persisted_documents", **values, conflict=_REGISTER_AGAIN)
        await database.execute(_EVICT_OWN, scope.store.id, registrar.name, registrar.quota)
        await database.execute(_EVICT_OF_KIND, scope.store.id, registrar.kind, MAX_OF_KIND)
