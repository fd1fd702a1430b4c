"""Give those who live in a demo store their accounts as they should be, with new passwords, keys and tokens."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from asyncpg import Record

from auth.identify import Entrant
from auth.lockout import subject_of_user
from auth.passwords import hash_password
from auth.sessions import complete_sign_in
from domain.people import accounts, two_factor
from domain.people.accounts import UserRef
from kernel.clock import rfc3339
from kernel.ids import random_token, uuid7
from kernel.scope import Scope, Store, entered
from models import database
from server.demo.acting import StoreOwner
from server.demo.stores import PLATFORM_EMAIL, PLATFORM_NAME, DemoStore, Persona
from server.operating import set_owner, system_scope

KEY_NAME = "demo"

_ACCOUNT = """
    select u.*, v.public_id as company_id from users u
    left join vendors v on v.tenant_id = u.tenant_id and v.id = u.vendor_id and v.deleted_at is null
    where u.tenant_id = $1 and u.email = $2 and u.deleted_at is null
"""
_VERIFY = "update users set email_verified_at = $3 where tenant_id = $1 and id = $2"
_SOME_VENDOR = """
    select id, public_id from vendors where tenant_id = $1 and deleted_at is null and status = 'A' order by id limit 1
"""


@dataclass(slots=True)
class Credentials:
    """Hold what a persona can sign in with."""

    persona: Persona
    user: UserRef
    password: str
    company_id: str | None = None
    api_key: str | None = None
    totp_secret: str | None = None
    tokens: Mapping[str, str] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """Give the persona's part of the JSON (decisions section 9)."""
        persona = self.persona
        shown: dict[str, Any] = {
            "user_id": str(self.user.public_id),
            "email": persona.email,
            "password": self.password,
        }
        if self.api_key is not None:
            shown["api_key"] = self.api_key
        if self.totp_secret is not None:
            shown["totp_secret"] = self.totp_secret
        shown |= self.tokens
        if persona.privileges:
            shown["privileges"] = list(persona.privileges)
        if self.company_id is not None:
            shown["company_id"] = self.company_id
        return shown


async def install_owner(store: Store, persona: Persona) -> StoreOwner:
    """Make the persona the owner of the store, if it isn't, so that it can act for the demo."""
    scope = system_scope(store)
    with entered(scope):
        found = await _find(scope, persona)
        if found is None:
            user = await _make(scope, persona, None)
        else:
            user = UserRef(found["id"], found["public_id"])
            if found["user_type"] != persona.user_type or found["status"] != persona.status:
                given = {"user_type": persona.user_type, "status": persona.status}
                await accounts.update_user(scope, user.public_id, given)
        if store.owner_id != user.id:
            async with database.transaction(scope):
                await set_owner(scope, user)
    return StoreOwner(store, user)


async def renew(owner: StoreOwner, demo: DemoStore) -> dict[str, Credentials]:
    """Give every persona of the store new credentials, by its key; accounts that were changed are put right again."""
    shared = random_token(
        96
    )  # two accounts with one CPF and one password, so that only the e-mail tells them apart
    return {
        persona.key: await _renew(
            owner, persona, shared if persona.key.startswith("shared") else random_token(96)
        )
        for persona in demo.personas
    }


async def _renew(owner: StoreOwner, persona: Persona, password: str) -> Credentials:
    scope = system_scope(owner.store)
    with entered(scope):
        vendor = await database.row(_SOME_VENDOR, scope.store.id) if persona.user_type == "V" else None
        found = await _find(scope, persona)
        if found is None:
            await _make(scope, persona, vendor)
            found = await _find(scope, persona)
            assert found is not None
    user = UserRef(found["id"], found["public_id"])
    await owner.do("DemoUserChange", id=str(user.public_id), input=_wanted(persona, password, found, vendor))
    with entered(scope):
        await database.execute(_VERIFY, scope.store.id, user.id, scope.now if persona.verified else None)
        found = await _find(scope, persona)
        assert found is not None
    if persona.user_type == "A" and set(found["privileges"]) != set(persona.privileges):
        await owner.do("DemoPrivileges", id=str(user.public_id), privileges=list(persona.privileges))
    credentials = Credentials(persona, user, password)
    if found["company_id"] is not None:
        credentials.company_id = str(found["company_id"])
    if persona.has_api_key:
        credentials.api_key = await _renew_api_key(owner, user)
    if persona.has_two_factor:
        with entered(scope):
            credentials.totp_secret = await two_factor.install(scope, user.id)
    if user.id == owner.user.id:
        credentials.tokens = await _sign_in(owner, found)
    return credentials


def _wanted(persona: Persona, password: str, found: Record, vendor: Record | None) -> dict[str, Any]:
    """Say what must change about the account: the password always, the rest only where it was changed."""
    given: dict[str, Any] = {"password": password}
    if found["user_type"] != persona.user_type:
        given["user_type"] = persona.user_type
    if found["status"] != persona.status:
        given["status"] = persona.status
    if found["cpf"] != persona.cpf:
        given["cpf"] = persona.cpf
    if vendor is not None and found["company_id"] is None:
        given["vendor_id"] = str(vendor["public_id"])
    return given


async def _find(scope: Scope, persona: Persona) -> Record | None:
    return await database.row(_ACCOUNT, scope.store.id, persona.email)


async def _make(scope: Scope, persona: Persona, vendor: Record | None) -> UserRef:
    """Make the account by the domain's own function: no mutation makes one whose e-mail is not confirmed."""
    given = {
        "email": persona.email,
        "name": persona.name,
        "user_type": persona.user_type,
        "status": persona.status,
        "cpf": persona.cpf,
        "vendor_id": str(vendor["public_id"]) if vendor else None,
    }
    return await accounts.create_user(scope, given, verified=persona.verified)


async def _renew_api_key(owner: StoreOwner, user: UserRef) -> str:
    user_id = str(user.public_id)
    for key in await owner.do("DemoApiKeys", user_id=user_id):
        if key["name"] == KEY_NAME:
            await owner.do("DemoApiKeyEnd", id=key["id"])
    made = await owner.do("DemoApiKey", user_id=user_id, name=KEY_NAME)
    return str(made["key"])


async def _sign_in(owner: StoreOwner, found: Record) -> dict[str, str]:
    """Open a session as a right password does, but not through the sign-in route, which counts attempts."""
    entrant = Entrant(
        id=found["id"],
        public_id=found["public_id"],
        password_hash=found["password_hash"],
        user_type=found["user_type"],
        status=found["status"],
        email=found["email"],
        email_verified_at=found["email_verified_at"],
        vendor_id=found["vendor_id"],
        subject=subject_of_user(found["id"]),
    )
    scope = owner.scope()
    with entered(scope):
        signed_in = await complete_sign_in(scope, entrant)
    return {
        "access_token": signed_in.access_token,
        "refresh_token": signed_in.refresh_token,
        "expires_at": rfc3339(signed_in.expires_at),
    }


async def renew_platform_user() -> dict[str, str]:
    """Give the platform's own user a new password; it enters no store."""
    password = random_token(96)
    password_hash = await hash_password(password)
    async with database.across_stores() as platform:
        known = await platform.execute(
            "update platform_users set password_hash = $2 where email = $1", PLATFORM_EMAIL, password_hash
        )
        if not known:
            await platform.execute(
                "insert into platform_users (public_id, email, name, password_hash) values ($1, $2, $3, $4)",
                uuid7(),
                PLATFORM_EMAIL,
                PLATFORM_NAME,
                password_hash,
            )
    return {"email": PLATFORM_EMAIL, "password": password}
