"""The hosts of stores: assigned by the platform's operator, or by a store that proves to control the name.

A store claims a name and proves it by a TXT record at `_vitrine.<name>` or a file at the name (docs/reference/shared.md#hosts). A claim
resolves to no store. `store_hosts` belongs to the platform: it is written through `cross_store_connection`. Every change notifies the
processes that cache stores.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from auth.store_resolution import CHANNEL, invalidate_store, parse_host
from domain.outgoing import calls
from domain.outgoing.txt_records import LookupFailed, find_txt_records
from kernel.errors import Conflict, NotFound, RuleViolation, ValidationFailed
from kernel.ids import uuid7
from kernel.scope import Scope, active_scope
from kernel.text import repr_value
from models import audit
from models.connection.database import (
    CrossStoreConnection,
    cross_store_connection,
    execute,
    fetch,
    fetchrow,
    transaction,
)
from models.rows import delete_rows

MAX_HOSTS = 50
"""The hosts and claims of a store; the operator may assign more."""
PROOF_PATH = "/.well-known/vitrine-store"
_RECORD_PREFIX = "_vitrine."
_MAX_HOST, _MAX_LABEL = 253, 63
_MAX_PROOF = 1_000
_TOKEN_BYTES = 24

_INSERT = """
INSERT INTO store_hosts (host, store_id) SELECT DISTINCT host, $2::bigint FROM unnest($1::text[]) AS host
ON CONFLICT (host) DO NOTHING RETURNING host
"""
_DELETE = "DELETE FROM store_hosts WHERE store_id = $1 AND host = $2"
# The one that is primary loses it first: at most one may be.
_CLEAR_PRIMARY = "UPDATE store_hosts SET is_primary = false WHERE store_id = $1 AND is_primary AND host <> $2"
_UPDATE = """
UPDATE store_hosts SET is_primary = coalesce($3, is_primary), is_redirected = coalesce($4, is_redirected) AND NOT coalesce($3, is_primary)
WHERE store_id = $1 AND host = $2
"""
_NOTIFY = "SELECT pg_notify($1, $2)"
_LIST = """
SELECT host, verified_at, is_primary, is_redirected, NULL AS token, '' AS error FROM store_hosts WHERE store_id = $1
UNION ALL
SELECT c.host, NULL, false, false, c.token, c.error FROM store_host_claims c
WHERE c.tenant_id = $1 AND NOT EXISTS (SELECT FROM store_hosts h WHERE h.store_id = $1 AND h.host = c.host)
ORDER BY is_primary DESC, host
"""
_CLAIM = """
INSERT INTO store_host_claims (tenant_id, public_id, host, token) VALUES ($1, $2, $3, $4) ON CONFLICT (tenant_id, host) DO NOTHING
"""
_LOCK_STORE = "SELECT FROM tenants WHERE id = $1 FOR NO KEY UPDATE"
_TOKEN = "SELECT token FROM store_host_claims WHERE tenant_id = $1 AND host = $2"
_NOTE_ERROR = "UPDATE store_host_claims SET error = $3 WHERE tenant_id = $1 AND host = $2 AND error <> $3"


@dataclass(frozen=True, slots=True)
class SharedHosts:
    """The hosts where X-Tenant-ID selects the store: no store can have one."""

    names: frozenset[str] = frozenset()


_shared = SharedHosts()


def configure(shared_hosts: Iterable[str]) -> None:
    """Set the hosts that stores share (VITRINE_SHARED_HOSTS)."""
    global _shared
    _shared = SharedHosts(frozenset(shared_hosts))


def parse_store_host(host: object) -> str:
    """Return a host name in lower case, without port and final dot.

    Raises ValidationFailed `host_invalid`, and Conflict for a host that stores share.
    """
    name = parse_host(host) if isinstance(host, str) else None
    if name is None or len(name) > _MAX_HOST or not all(1 <= len(label) <= _MAX_LABEL for label in name.split(".")):
        hint = "" if str(host).isascii() else ", in the form of DNS (xn--…)"
        raise ValidationFailed(
            f"host is {repr_value(host)}; expected a name such as shop.example.com{hint}",
            field="host",
            code="host_invalid",
        )
    if name in _shared.names:
        raise Conflict(
            f"the address {name} is shared (VITRINE_SHARED_HOSTS): no store can have it", reason="host_shared"
        )
    return name


# --- Operations of the platform ----------------------------------------------------------------------------------------------


async def assign_hosts(platform: CrossStoreConnection, store_id: int, names: Iterable[str]) -> None:
    """Assign names to a store in the open transaction; raises Conflict for one that a store has."""
    wanted = list(dict.fromkeys(names))
    if wanted:
        assigned = {row["host"] for row in await platform.fetch(_INSERT, wanted, store_id)}
        if taken := [name for name in wanted if name not in assigned]:
            raise Conflict(f"the address {taken[0]} is in use", reason="host_taken")


async def notify_changed(platform: CrossStoreConnection, store_id: int) -> None:
    """Let every process forget what it cached of a store, at the commit."""
    await platform.execute(_NOTIFY, CHANNEL, str(store_id))


async def add_host(store_id: int, host: str) -> str:
    """Assign a name to a store, without proof, and return it; raises Conflict for one that a store has."""
    name = parse_store_host(host)
    async with cross_store_connection() as platform, platform.transaction():
        await assign_hosts(platform, store_id, [name])
        await notify_changed(platform, store_id)
    return name


async def assign_host(scope: Scope, host: str) -> str:
    """Assign a name to the store, without proof, and return it; a claim of it is settled."""
    name = await add_host(scope.store.id, host)
    async with transaction(scope):
        await _settle_claim(scope, name, "store_host.assigned")
    return name


# --- Operations of the store -------------------------------------------------------------------------------------------------


async def find_hosts(scope: Scope) -> list[dict[str, Any]]:
    """Return the hosts of the store and its claims, the primary one first, with what proves a claim."""
    with active_scope(scope):
        rows = await fetch(_LIST, scope.store.id)
    return [_describe(row) for row in rows]


async def find_host(scope: Scope, host: str) -> dict[str, Any]:
    """Return a host or claim of the store. Raises NotFound."""
    for entry in await find_hosts(scope):
        if entry["host"] == host:
            return entry
    raise NotFound("host")


async def claim_host(scope: Scope, host: object) -> str:
    """Ask for a host and return its name; the claim says what has to be proved. One that the store has or asked for stays as it is.

    Raises ValidationFailed, and RuleViolation `too_many_hosts`. Whether another store has the name is said after the proof.
    """
    name = parse_store_host(host)
    async with transaction(scope):
        await execute(_LOCK_STORE, scope.store.id)
        known = {entry["host"] for entry in await fetch(_LIST, scope.store.id)}
        if name in known:
            return name
        if len(known) >= MAX_HOSTS:
            raise RuleViolation(f"the store has {len(known)} hosts; at most {MAX_HOSTS}", reason="too_many_hosts")
        await execute(_CLAIM, scope.store.id, uuid7(), name, secrets.token_urlsafe(_TOKEN_BYTES))
        await audit.record(scope, "store_host.claimed", "store", scope.store.public_id, {"host": name})
    return name


async def verify_host(scope: Scope, host: object) -> str:
    """Look for the proof of a claim, outside of any transaction, and give the store the host; return its name.

    Raises NotFound without a claim, RuleViolation `host_not_verified` with what was found, and Conflict for a host of another store.
    """
    name = parse_store_host(host)
    token = await _claimed_token(scope, name)
    if token is None:
        return name
    failure = await _find_failure(name, token)
    if failure:
        async with transaction(scope):
            await execute(_NOTE_ERROR, scope.store.id, name, failure)
        raise RuleViolation(failure, reason="host_not_verified")
    await add_host(scope.store.id, name)
    async with transaction(scope):
        await _settle_claim(scope, name, "store_host.verified")
    return name


async def update_host(scope: Scope, host: object, *, is_primary: bool | None, is_redirected: bool | None) -> str:
    """Make a verified host the primary one or not, and let browsers be redirected from it to the primary one or not. Raises NotFound."""
    name = parse_store_host(host)
    entry = await find_host(scope, name)
    if entry["verified_at"] is None:
        raise NotFound("host")
    given = {"is_primary": is_primary, "is_redirected": is_redirected}
    changes = {field: value for field, value in given.items() if value is not None and value is not entry[field]}
    if not changes:
        return name
    async with cross_store_connection() as platform, platform.transaction():
        if is_primary:
            await platform.execute(_CLEAR_PRIMARY, scope.store.id, name)
        if await platform.execute(_UPDATE, scope.store.id, name, is_primary, is_redirected) == 0:
            raise NotFound("host")  # removed meanwhile
        await notify_changed(platform, scope.store.id)
    async with transaction(scope):
        await _note_change(scope, "store_host.updated", {"host": name, **changes})
    return name


async def remove_host(scope: Scope, host: object) -> None:
    """Give up a host or a claim: requests with this name find no store. Raises NotFound."""
    name = parse_store_host(host)
    async with cross_store_connection() as platform, platform.transaction():
        is_released = await platform.execute(_DELETE, scope.store.id, name)
        await notify_changed(platform, scope.store.id)
    async with transaction(scope):
        dropped = await delete_rows(scope, "store_host_claims", host=name)
        if not is_released and not dropped:
            raise NotFound("host")
        await _note_change(scope, "store_host.removed", {"host": name})


async def _claimed_token(scope: Scope, name: str) -> str | None:
    """Return the token of a claim, None for a host that the store has. Raises NotFound."""
    entry = await find_host(scope, name)
    if entry["verified_at"] is not None:
        return None
    with active_scope(scope):
        row = await fetchrow(_TOKEN, scope.store.id, name)
    if row is None:  # removed meanwhile
        raise NotFound("host")
    return str(row["token"])


async def _settle_claim(scope: Scope, name: str, action: str) -> None:
    """Delete the claim of a host that the store has now, in the open transaction.

    After an interruption before it the claim stays, and is not shown.
    """
    await delete_rows(scope, "store_host_claims", host=name)
    await _note_change(scope, action, {"host": name})


async def _note_change(scope: Scope, action: str, details: Mapping[str, Any]) -> None:
    """Write the audit entry, in the open transaction; this process forgets the store at once, before the notice reaches it."""
    await audit.record(scope, action, "store", scope.store.public_id, details)
    await invalidate_store(scope.store.id)


async def _find_failure(name: str, token: str) -> str:
    """Return why neither the record nor the file proves the claim, empty where one does."""
    record = f"{_RECORD_PREFIX}{name}"
    try:
        texts = await find_txt_records(record)
    except LookupFailed as error:
        texts, in_dns = [], f"the name servers gave no answer for {record} ({error})"
    else:
        in_dns = (
            f"{record} has {len(texts)} TXT records, none with the token" if texts else f"{record} has no TXT record"
        )
    if token in (text.strip() for text in texts):
        return ""
    at_host = await _find_file_failure(name, token)
    return f"{in_dns}; {at_host}" if at_host else ""


async def _find_file_failure(name: str, token: str) -> str:
    url = _proof_url(name)
    try:
        response = await calls.get(url, headers={}, max_bytes=_MAX_PROOF)
    except calls.AddressNotAllowed:
        return f"{url} is at an address that is not public"
    except calls.RequestFailed as error:
        return f"{url}: {error}"
    if response.status != 200:
        return f"{url} answered {response.status}"
    is_proof = response.body.decode("utf-8", "replace").strip() == token
    return "" if is_proof else f"{url} is not the token"


def _proof_url(name: str) -> str:
    return f"{'http' if calls.allows_private() else 'https'}://{name}{PROOF_PATH}"


def _describe(row: Mapping[str, Any]) -> dict[str, Any]:
    token = row["token"]
    proof = token and {
        "record_name": f"{_RECORD_PREFIX}{row['host']}",
        "url": _proof_url(row["host"]),
        "value": token,
    }
    return {
        **{name: row[name] for name in ("host", "verified_at", "is_primary", "is_redirected", "error")},
        "proof": proof,
    }
