"""Restore the accounts of a demo store's users and renew their passwords, keys and tokens."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from asyncpg import Record

from auth.lockout import user_subject
from auth.password_authentication import authenticated_user
from auth.passwords import hash_password
from auth.sessions import complete_sign_in
from domain.people import accounts, two_factor
from domain.people.accounts import UserRef
from kernel.clock import format_rfc3339
from kernel.ids import random_token, uuid7
from kernel.scope import Scope, Store, active_scope
from models.connection import database
from server.demo.owner import DemoOwner
from server.demo.stores import PLATFORM_EMAIL, PLATFORM_NAME, DemoStore, Persona
from server.operations.store_admin import set_owner, system_scope

KEY_NAME = "demo"

_ACCOUNT = """
    select u.*, v.public_id as company_id from users u
    left join vendors v on v.tenant_id = u.tenant_id and v.id = u.vendor_id and v.deleted_at is null
    where u.tenant_id = $1 and u.email = $2 and u.deleted_at is null
"""
_SET_EMAIL_VERIFIED = "update users set email_verified_at = $3 where tenant_id = $1 and id = $2"
_FIRST_VENDOR = """
    select id, public_id from vendors where tenant_id = $1 and deleted_at is null and status = 'A' order by id limit 1
"""


@dataclass(slots=True)
class Credentials:
    """The credentials of a persona."""

    persona: Persona
    user: UserRef
    password: str
    company_id: str | None = None
    api_key: str | None = None
    totp_secret: str | None = None
    tokens: Mapping[str, str] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """Return the persona's part of the JSON (docs/reference/shared.md#demo-stores)."""
        persona = self.persona
        result: dict[str, Any] = {
            "user_id": str(self.user.public_id),
            "email": persona.email,
            "password": self.password,
        }
        if self.api_key is not None:
            result["api_key"] = self.api_key
        if self.totp_secret is not None:
            result["totp_secret"] = self.totp_secret
        result |= self.tokens
        if persona.privileges:
            result["privileges"] = list(persona.privileges)
        if self.company_id is not None:
            result["company_id"] = self.company_id
        return result


async def ensure_owner(store: Store, persona: Persona) -> DemoOwner:
    """Make the persona the owner of the store, so that it can act for the demo."""
    scope = system_scope(store)
    with active_scope(scope):
        row = await _find_user(scope, persona)
        if row is None:
            user = await _create_user(scope, persona, None)
        else:
            user = UserRef(row["id"], row["public_id"])
            if row["user_type"] != persona.user_type or row["status"] != persona.status:
                changes = {"user_type": persona.user_type, "status": persona.status}
                await accounts.update_user(scope, user.public_id, changes)
        if store.owner_id != user.id:
            async with database.transaction(scope):
                await set_owner(scope, user)
    return DemoOwner(store, user)


async def renew(owner: DemoOwner, demo: DemoStore) -> dict[str, Credentials]:
    """Renew the credentials of every persona of the store, by key, and restore changed accounts."""
    shared = random_token(96)  # two accounts share a CPF and password, so that only the e-mail distinguishes them
    return {
        persona.key: await _renew(owner, persona, shared if persona.key.startswith("shared") else random_token(96))
        for persona in demo.personas
    }


async def _renew(owner: DemoOwner, persona: Persona, password: str) -> Credentials:
    scope = system_scope(owner.store)
    with active_scope(scope):
        vendor = await database.fetchrow(_FIRST_VENDOR, scope.store.id) if persona.user_type == "V" else None
        row = await _find_user(scope, persona)
        if row is None:
            await _create_user(scope, persona, vendor)
            row = await _find_user(scope, persona)
            assert row is not None
    user = UserRef(row["id"], row["public_id"])
    changes = _account_changes(persona, password, row, vendor)
    if user.id == owner.user.id:
        # Its own password would need the current one.
        with active_scope(scope):
            await accounts.update_user(scope, user.public_id, changes)
    else:
        await owner.execute("user_update", id=str(user.public_id), input=changes)
    with active_scope(scope):
        await database.execute(_SET_EMAIL_VERIFIED, scope.store.id, user.id, scope.now if persona.verified else None)
        row = await _find_user(scope, persona)
        assert row is not None
    if persona.user_type == "A" and set(row["privileges"]) != set(persona.privileges):
        await owner.execute("user_set_privileges", id=str(user.public_id), privileges=list(persona.privileges))
    credentials = Credentials(persona, user, password)
    if row["company_id"] is not None:
        credentials.company_id = str(row["company_id"])
    if persona.has_api_key:
        credentials.api_key = await _renew_api_key(owner, user)
    if persona.has_two_factor:
        with active_scope(scope):
            credentials.totp_secret = await two_factor.enable_for_demo(scope, user.id)
    if user.id == owner.user.id:
        credentials.tokens = await _sign_in(owner, row)
    return credentials


def _account_changes(persona: Persona, password: str, row: Record, vendor: Record | None) -> dict[str, Any]:
    """Return the changes to the account: always the password, other fields only where they differ."""
    changes: dict[str, Any] = {"password": password}
    if row["user_type"] != persona.user_type:
        changes["user_type"] = persona.user_type
    if row["status"] != persona.status:
        changes["status"] = persona.status
    if row["cpf"] != persona.cpf:
        changes["cpf"] = persona.cpf
    if vendor is not None and row["company_id"] is None:
        changes["vendor_id"] = str(vendor["public_id"])
    return changes


async def _find_user(scope: Scope, persona: Persona) -> Record | None:
    return await database.fetchrow(_ACCOUNT, scope.store.id, persona.email)


async def _create_user(scope: Scope, persona: Persona, vendor: Record | None) -> UserRef:
    """Create the account with the domain function: no mutation creates one with an unconfirmed e-mail."""
    changes = {
        "email": persona.email,
        "name": persona.name,
        "user_type": persona.user_type,
        "status": persona.status,
        "cpf": persona.cpf,
        "vendor_id": str(vendor["public_id"]) if vendor else None,
    }
    return await accounts.create_user(scope, changes, verified=persona.verified)


async def _renew_api_key(owner: DemoOwner, user: UserRef) -> str:
    user_id = str(user.public_id)
    for key in await owner.execute("api_keys", user_id=user_id):
        if key["name"] == KEY_NAME:
            await owner.execute("api_key_revoke", id=key["id"])
    created = await owner.execute("api_key_create", user_id=user_id, name=KEY_NAME)
    return str(created["key"])


async def _sign_in(owner: DemoOwner, row: Record) -> dict[str, str]:
    """Open a session without the sign-in route, which counts attempts."""
    user = authenticated_user(row, user_subject(row["id"]))
    scope = owner.scope()
    with active_scope(scope):
        signed_in = await complete_sign_in(scope, user)
    return {
        "access_token": signed_in.access_token,
        "refresh_token": signed_in.refresh_token,
        "expires_at": format_rfc3339(signed_in.expires_at),
    }


async def renew_platform_user() -> dict[str, str]:
    """Set a new password for the platform user, who has no store."""
    password = random_token(96)
    password_hash = await hash_password(password)
    async with database.cross_store_connection() as platform:
        updated = await platform.execute(
            "update platform_users set password_hash = $2 where email = $1", PLATFORM_EMAIL, password_hash
        )
        if not updated:
            await platform.execute(
                "insert into platform_users (public_id, email, name, password_hash) values ($1, $2, $3, $4)",
                uuid7(),
                PLATFORM_EMAIL,
                PLATFORM_NAME,
                password_hash,
            )
    return {"email": PLATFORM_EMAIL, "password": password}
