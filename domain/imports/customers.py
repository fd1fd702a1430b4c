"""Create and update the customers of a file in batches (docs/reference/bulk.md#customers).

No mail is sent: a new account has no password, and a mail of the password reset lets its owner set one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from auth.credential_cache import invalidate_credentials
from domain import event_types, events, record_events
from domain.addresses import ADDRESS, check_address
from domain.imports.references import lock_import
from domain.imports.results import RecordProblem, RecordResult, TakeNumbers
from domain.people.account_fields import STORED_FIELDS, split_name
from domain.people.addresses import MAX_ADDRESSES
from domain.points.ledger import write_opening_balances
from kernel.errors import ValidationFailed
from kernel.fields import InputField, read_with_errors, timestamp
from kernel.geography import BRAZIL
from kernel.ids import uuid7
from kernel.scope import Scope
from kernel.text import nfc, repr_value
from models import audit
from models.audit import AuditLogEntry
from models.connection.database import execute, fetch, transaction
from models.numbers import take_numbers
from models.rows import insert_rows, insert_sql, json_text, rows_json

SOURCE = "file"
_UPDATABLE = ("firstname", "lastname", "company_name", "phone", "cpf", "cnpj")
_ADDRESS = ("name", "street", "number", "complement", "district", "city", "state", "zipcode", "country", "phone")
_FIELDS: Mapping[str, InputField] = {
    **{name: STORED_FIELDS[name] for name in ("email", "status", "points", *_UPDATABLE)},
    "created_at": InputField("created_at", timestamp),
}
_NEW = {"firstname": "", "lastname": "", "company_name": "", "phone": None, "cpf": None, "cnpj": None}

_EXISTING = f"""
SELECT id, public_id, email, user_type, {", ".join(_UPDATABLE)} FROM users
WHERE tenant_id = $1 AND email = ANY($2::text[]) AND deleted_at IS NULL ORDER BY id FOR NO KEY UPDATE
"""
# An account may have been registered since `_EXISTING`.
_INSERT = (
    insert_sql(
        "users", ("id", "email", "status", "points", *_UPDATABLE, "email_verified_at", "created_at", "updated_at")
    )
    + " ON CONFLICT (tenant_id, email) WHERE deleted_at IS NULL DO NOTHING RETURNING id"
)
_UPDATE = f"""
UPDATE users u SET {", ".join(f"{name} = r.{name}" for name in _UPDATABLE)}, updated_at = $3
FROM jsonb_populate_recordset(NULL::users, $2::text::jsonb) AS r WHERE u.tenant_id = $1 AND u.id = r.id
"""
# Of several with one name the oldest counts.
_USERGROUPS = (
    "SELECT id, name FROM usergroups WHERE tenant_id = $1 AND type = 'C' AND deleted_at IS NULL ORDER BY id DESC"
)
# A membership that was declined here stays so.
_ADD_MEMBERSHIPS = (
    insert_sql("usergroup_memberships", ("usergroup_id", "user_id", "status", "created_at"))
    + " ON CONFLICT (tenant_id, usergroup_id, user_id) DO NOTHING RETURNING user_id"
)
_ADDRESSES = f"""
SELECT user_id, {", ".join(_ADDRESS)} FROM user_addresses WHERE tenant_id = $1 AND user_id = ANY($2::bigint[])
"""


@dataclass(slots=True)
class _Draft:
    """A customer to write: its columns, its addresses and usergroups, and what is wrong with it."""

    columns: dict[str, Any] = field(default_factory=dict)
    addresses: list[dict[str, Any]] = field(default_factory=list)
    usergroups: Sequence[str] = ()
    groups: list[int] = field(default_factory=list)
    problems: list[RecordProblem] = field(default_factory=list)
    id: int = 0
    public_id: UUID | None = None
    is_new: bool = False
    is_changed: bool = False


async def upsert_customers(
    scope: Scope, records: Sequence[Mapping[str, Any]], *, emit_events: bool = False, take: TakeNumbers = take_numbers
) -> list[RecordResult]:
    """Create customers, or update those with the same e-mail; return the result of each, in a constant number of statements.

    A record has the fields of an account, `name` in place of first and last name, `created_at`, `usergroups` (names), and `addresses`
    (fields of `domain.addresses`). Only new customers get status, points and time; names and documents of others change where the record
    has them. Addresses and memberships are added. `emit_events` also emits `user.registered` and `customer.created`.
    """
    drafts = [_read(record) for record in records]
    _reject_repeated(drafts)
    async with transaction(scope):
        await lock_import(scope, SOURCE)
        await _match(scope, drafts)
        await _resolve_usergroups(scope, drafts)
        await _choose_addresses(scope, drafts)
        await _insert(scope, [draft for draft in drafts if draft.is_new and not draft.problems], take)
        right = [draft for draft in drafts if not draft.problems]
        changed = [draft for draft in right if draft.is_changed and not draft.is_new]
        if changed:
            await execute(
                _UPDATE, scope.store.id, json_text([{"id": each.id, **each.columns} for each in changed]), scope.now
            )
        await _write_parts(scope, right)
        await _record(scope, right, emit_events=emit_events)
    return [_result(draft) for draft in drafts]


def _result(draft: _Draft) -> RecordResult:
    if draft.problems:
        return RecordResult("refused", draft.problems)
    return RecordResult("created" if draft.is_new else "updated" if draft.is_changed else "unchanged")


def _read(record: Mapping[str, Any]) -> _Draft:
    columns, errors = read_with_errors(_FIELDS, split_name(record), creating=True)
    draft = _Draft(columns, usergroups=record.get("usergroups") or ())
    draft.problems = [RecordProblem(name, message) for name, (_, message) in errors.items()]
    for item, values in enumerate(record.get("addresses") or ()):
        address, wrong = read_with_errors(ADDRESS, {"country": BRAZIL, **values}, creating=True)
        if not wrong:
            try:
                # Of another system, whose addresses may be incomplete: their postal code and country count.
                check_address(address, address)
            except ValidationFailed as error:
                wrong = {"zipcode": ("", error.message)}
        draft.problems += [RecordProblem(f"addresses.{name}", message, item) for name, (_, message) in wrong.items()]
        draft.addresses.append({name: address.get(name, "") for name in _ADDRESS})
    return draft


def _reject_repeated(drafts: Iterable[_Draft]) -> None:
    seen: set[str] = set()
    for draft in drafts:
        email = draft.columns.get("email")
        if email in seen:
            draft.problems.append(RecordProblem("email", "email is that of an earlier record"))
        elif email:
            seen.add(email)


async def _match(scope: Scope, drafts: Sequence[_Draft]) -> None:
    """Find and lock the accounts that exist."""
    emails = [draft.columns["email"] for draft in drafts if not draft.problems]
    existing = {row["email"]: row for row in await fetch(_EXISTING, scope.store.id, emails)}
    for draft in drafts:
        row = existing.get(draft.columns.get("email"))
        draft.is_new = row is None
        if row is None:
            draft.columns = {**_NEW, **draft.columns}
            continue
        if row["user_type"] != "C":
            draft.problems.append(RecordProblem("email", "email is that of an account that is not a customer's"))
        changes = {name: draft.columns[name] for name in _UPDATABLE if name in draft.columns}
        draft.id, draft.public_id = row["id"], row["public_id"]
        draft.is_changed = any(value != row[name] for name, value in changes.items())
        draft.columns = {name: changes.get(name, row[name]) for name in _UPDATABLE}


async def _resolve_usergroups(scope: Scope, drafts: Sequence[_Draft]) -> None:
    if not any(draft.usergroups for draft in drafts):
        return
    ids = {row["name"].lower(): row["id"] for row in await fetch(_USERGROUPS, scope.store.id)}
    for draft in drafts:
        named = {name: ids.get(nfc(name).lower()) for name in draft.usergroups}
        missing = [name for name, group in named.items() if group is None]
        draft.groups = sorted({group for group in named.values() if group is not None})
        if missing:
            draft.problems.append(
                RecordProblem("usergroups", f"the store has no usergroup {repr_value(missing[0])} of customers")
            )


async def _choose_addresses(scope: Scope, drafts: Sequence[_Draft]) -> None:
    """Keep the addresses that the customer doesn't have; the first one of all becomes the default."""
    known: dict[int, list[dict[str, Any]]] = {}
    users = [draft.id for draft in drafts if draft.id and draft.addresses]
    for row in await fetch(_ADDRESSES, scope.store.id, users) if users else ():
        known.setdefault(row["user_id"], []).append({name: row[name] for name in _ADDRESS})
    for draft in drafts:
        existing = known.get(draft.id, [])
        added: list[dict[str, Any]] = []
        for address in draft.addresses:
            if address not in existing and address not in added:
                added.append(address)
        if len(existing) + len(added) > MAX_ADDRESSES:
            message = f"addresses are {len(existing) + len(added)}; an account has at most {MAX_ADDRESSES}"
            draft.problems.append(RecordProblem("addresses", message))
        draft.addresses = [
            {**address, "is_default_shipping": is_default, "is_default_billing": is_default}
            for place, address in enumerate(added)
            for is_default in [not existing and place == 0]
        ]


async def _insert(scope: Scope, new: Sequence[_Draft], take: TakeNumbers) -> None:
    if not new:
        return
    for draft, number in zip(new, (await take(scope, {"users": len(new)}))["users"], strict=True):
        draft.id, draft.public_id = number, uuid7()
    times = {"created_at": scope.now, "updated_at": scope.now}
    rows = [
        {
            "status": "A",
            "points": 0,
            **times,
            **draft.columns,
            # The other shop has used the address; only a mail to it gives access to the account.
            "email_verified_at": draft.columns.get("created_at", scope.now),
            "id": draft.id,
            "public_id": draft.public_id,
        }
        for draft in new
    ]
    inserted = {row["id"] for row in await fetch(_INSERT, scope.store.id, json_text(rows))}
    for draft in new:
        if draft.id not in inserted:
            draft.problems.append(RecordProblem("email", "email was registered meanwhile; import the record again"))
    balances = {draft.id: draft.columns.get("points", 0) for draft in new if draft.id in inserted}
    await write_opening_balances(scope, {user: points for user, points in balances.items() if points})


async def _write_parts(scope: Scope, right: Sequence[_Draft]) -> None:
    joining = {"status": "A", "created_at": scope.now}
    memberships = [{"usergroup_id": group, "user_id": draft.id, **joining} for draft in right for group in draft.groups]
    if memberships:
        joined = {row["user_id"] for row in await fetch(_ADD_MEMBERSHIPS, scope.store.id, rows_json(memberships))}
        for draft in right:
            draft.is_changed |= draft.id in joined
    times = {"created_at": scope.now, "updated_at": scope.now}
    addresses = [{"user_id": draft.id, **address, **times} for draft in right for address in draft.addresses]
    if addresses:
        await insert_rows(scope, "user_addresses", addresses)
        for draft in right:
            draft.is_changed |= bool(draft.addresses)


async def _record(scope: Scope, right: Sequence[_Draft], *, emit_events: bool) -> None:
    """Emit the events, write the audit entries, and let other processes read changed accounts again."""
    created = [draft for draft in right if draft.is_new]
    changed = [draft for draft in right if draft.is_changed and not draft.is_new]
    if emit_events and created:
        await events.emit_all(scope, [event for draft in created for event in _registered(scope, draft)])
    if changed:
        await record_events.emit_records(scope, event_types.CUSTOMER_UPDATED, [draft.id for draft in changed])
        await invalidate_credentials(scope)
    await audit.record_all(
        scope,
        [
            AuditLogEntry("user.created", "user", draft.public_id, {"user_type": "C"})
            if draft.is_new
            else AuditLogEntry("user.updated", "user", draft.public_id, {"changed": ["imported"]})
            for draft in (*created, *changed)
            if draft.public_id is not None
        ],
    )


def _registered(scope: Scope, draft: _Draft) -> list[events.Event]:
    columns = draft.columns
    user = {
        "public_id": draft.public_id,
        "name": f"{columns['firstname']} {columns['lastname']}".strip(),
        "email": columns["email"],
        "user_type": "C",
        "status": columns.get("status", "A"),
    }
    return events.registration_events(user, columns.get("created_at", scope.now))
