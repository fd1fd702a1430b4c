"""Export what a store knows of a person (LGPD, article 18): the rows of `domain.people.personal_data` as JSON, in pages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import orjson

from auth import privileges
from domain.media.addresses import with_image_urls
from domain.people.account_fields import ACCOUNT_FIELDS
from domain.people.accounts import account_of, find_by_email
from domain.people.personal_data import PLACES, Person, Place, bind, load_account_alone, load_person
from kernel.errors import Forbidden, ValidationFailed
from kernel.fields import read_fields
from kernel.ids import MAX_NUMBER
from kernel.scope import STAFF, Scope, active_scope
from models.connection.database import fetch, fetchval

PAGE_ROWS = 1_000
# Credentials, and columns that are made from others.
_LEFT_OUT = (
    *("tenant_id", "public_id", "password_hash", "key_hash", "hint", "body", "digest", "content_hash", "claim"),
    *("customer_folded", "name_folded", "search", "traceparent"),
)
_SECTIONS: tuple[Place, ...] = tuple(place for place in reversed(PLACES) if place.exported)
"""The account first, then what belongs to it."""

_PAGE = """
SELECT t.id, (to_jsonb(t) - {left_out}::text[] || jsonb_build_object('id', t.public_id, 'number', t.id{image}))::text AS record
FROM {table} t WHERE t.tenant_id = $1 AND t.id > $2 AND ({condition}) ORDER BY t.id LIMIT $3
"""
_WITH_IMAGE = ("users", "review_images")
# The row has the source of a file, which another person may have named who had the same content before.
_IMAGE = ", 'image_url', [image:t.image_url]"
# By a mail: an app or administrator that creates an account may give it any address, which then counts as verified.
_HAS_PROVED_EMAIL = "SELECT coalesce(email_verified_at > created_at, false) FROM users WHERE tenant_id = $1 AND id = $2"


@dataclass(frozen=True, slots=True)
class ExportPage:
    """A page of an export: records by table, and what `after` takes for the next page (None: this was the last)."""

    data: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    next: str | None = None


async def export_user(
    scope: Scope, user: object = None, email: str | None = None, after: str | None = None
) -> ExportPage:
    """Return a page of the export of a user or, by e-mail, of a guest; by default of the caller.

    Others than the caller need `manage_users`, and administrators' data all of their privileges, as a change of the account does. Who
    lacks it gets its own data only, guests' orders with the same e-mail among them once a mail proved the e-mail. Raises NotFound,
    Forbidden, ValidationFailed and InsufficientPrivileges.
    """
    with active_scope(scope):
        user_id = await find_user(scope, user, email)
        is_own = user_id is not None and _is_only_own(scope, user_id)
        if user_id is None:
            person = await load_person(scope, email=_address(email))
        elif is_own:
            person = await _load_own(scope, user_id)
        else:
            if user_id != scope.actor.user_id:
                privileges.check_may_manage_user(scope, await account_of(scope, user_id))
            person = await load_person(scope, users=[user_id])
        return await export_person(scope, person, after, is_own=is_own)


def _is_only_own(scope: Scope, user_id: int) -> bool:
    """Return whether the user is the caller, who can't read the data of others."""
    return privileges.is_own_account(scope, user_id) and not scope.actor.has_privilege("manage_users")


async def _load_own(scope: Scope, user_id: int) -> Person:
    """Return the caller; anybody can write another person's telephone, or an e-mail before a mail proves it, into an account."""
    if not await fetchval(_HAS_PROVED_EMAIL, scope.store.id, user_id):
        return await load_account_alone(scope, user_id)
    return replace(await load_person(scope, users=[user_id]), phones=(), documents=())


async def find_user(scope: Scope, user: object = None, email: str | None = None) -> int | None:
    """Return the number of the user, by default the caller; None for the e-mail of a guest. Raises what `export_user` does."""
    if user is not None and email is not None:
        raise ValidationFailed("id and email can't be combined", field="email", code="email_invalid")
    own = scope.actor.user_id if scope.actor.is_user else None
    if user is None and email is None:
        if own is None:
            raise ValidationFailed("id or email is required", field="id", code="required")
        return own
    if email is not None:
        _reject_others(scope)
        address = _address(email)
        account = await find_by_email(scope, address)
        return None if account is None else int(account["id"])
    return await privileges.find_user_to_edit(scope, user)


def _reject_others(scope: Scope) -> None:
    if scope.actor.kind not in STAFF:
        raise Forbidden("insufficient permissions")
    privileges.check_may_edit_users(scope)


def _address(email: str | None) -> str:
    address: str = read_fields({"email": ACCOUNT_FIELDS["email"]}, {"email": email}, creating=True)["email"]
    return address


async def export_person(
    scope: Scope, person: Person, after: str | None = None, *, is_own: bool = False, limit: int = PAGE_ROWS
) -> ExportPage:
    """Return at most `limit` records, after those that `after` names; the person itself doesn't see columns that staff alone sees."""
    first, last = _position(after)
    data: dict[str, list[dict[str, Any]]] = {}
    missing = limit
    for index in range(first, len(_SECTIONS)):
        place = _SECTIONS[index]
        rows = await _read(scope, person, place, last, missing, is_own=is_own)
        if rows:
            data.setdefault(place.table, []).extend(orjson.loads(row["record"]) for row in rows)
        missing -= len(rows)
        if not missing:
            return ExportPage(data, f"{index}.{rows[-1]['id']}")
        last = 0
    return ExportPage(data)


async def _read(scope: Scope, person: Person, place: Place, last: int, limit: int, *, is_own: bool) -> Sequence[Any]:
    left_out = (*_LEFT_OUT, *(place.internal if is_own else ()))
    array = "ARRAY[" + ", ".join(f"'{name}'" for name in left_out) + "]"
    sql = _PAGE.replace("{left_out}", array).replace("{table}", place.table).replace("{condition}", place.condition)
    sql = with_image_urls(sql.replace("{image}", _IMAGE if place.table in _WITH_IMAGE else ""))
    statement, parameters = bind(sql, person, scope.store.id, last, limit)
    return await fetch(statement, *parameters)


def _position(after: str | None) -> tuple[int, int]:
    if after is None:
        return 0, 0
    section, _, last = after.partition(".")
    is_number = section.isdecimal() and last.isdecimal() and len(after) < 30
    if not (is_number and int(section) < len(_SECTIONS) and int(last) <= MAX_NUMBER):
        raise ValidationFailed("after is no position of an export", field="after", code="cursor_invalid")
    return int(section), int(last)
