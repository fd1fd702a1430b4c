"""Resolve sign-in and sign-out and the caller's own account: sessions, API keys."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from strawberry import Info

from auth import api_keys, legacy_tokens, sessions
from auth.access import Access
from auth.challenges import Challenge
from auth.signing_keys import process_key_ring
from domain.people import sign_in_keys
from domain.people.read import USERS
from kernel.errors import Forbidden, NotFound
from kernel.scope import Scope
from models.reading import row_reads
from models.reading.queries import Condition, Row
from models.reading.response_shapes import CalculatedField, ObjectField, ResponseField, ResponseShape, ScalarField
from resolvers.engine.compiled_results import OWN_RECORD, RESULT, OwnRecord, ResultField
from resolvers.mutation_helpers import acknowledgement, delete_field
from schema.declaration import declare
from schema.fields import LIST_SIZE, root_field
from schema.scalars import ID
from schema.selection import requested_shape
from schema.types.people import UserObject
from schema.types.sessions import (
    ANYONE,
    SIGNED_IN_USERS,
    STAFF_AND_VENDORS,
    ApiKeyObject,
    JsonWebKeyObject,
    LegacyTokenObject,
    NewApiKeyObject,
    SessionObject,
    SignedOutObject,
    SignInAnswerObject,
    SignInKeyObject,
    TokenPairObject,
)

LOGGED_OUT = "logged out"


def _own_row_condition(scope: Scope) -> Condition:
    """Return the condition for the caller's own row, visible without the privilege to view users."""
    if not scope.actor.is_user:
        raise Forbidden("insufficient permissions")
    return Condition("t.id = {}::bigint", (scope.actor.user_id,))


_OWN_USER = replace(USERS, visible=_own_row_condition)


def _without_guards(fields: tuple[ResponseField, ...]) -> tuple[ResponseField, ...]:
    """Remove the guards of the row's restricted fields; relations keep their access rules."""
    return tuple(
        replace(field, guard=None)
        if isinstance(field, ScalarField | CalculatedField)
        else replace(field, fields=_without_guards(field.fields))
        if isinstance(field, ObjectField)
        else field
        for field in fields
    )


def _own_shape(shape: ResponseShape) -> ResponseShape:
    return ResponseShape(_OWN_USER, _without_guards(shape.fields))


async def load_own_user(info: Info) -> Row | None:
    """Load the caller's own account with the field's selection, restricted fields included."""
    rows = await row_reads.fetch_many(info.context.scope, _own_shape(requested_shape(info)), limit=1)
    return rows[0] if rows else None


@declare
class AccountQueries:
    """Queries about the caller's account."""

    @root_field(SIGNED_IN_USERS, metadata={OWN_RECORD: OwnRecord(SIGNED_IN_USERS, _own_shape)})
    async def me(self, info: Info) -> UserObject:
        """Return the caller's account, including restricted fields."""
        user = await load_own_user(info)
        if user is None:
            raise NotFound("user")
        return user  # type: ignore[return-value]

    @root_field(SIGNED_IN_USERS, metadata={RESULT: ResultField(SIGNED_IN_USERS, sessions.list_sessions), LIST_SIZE: 2})
    async def sessions(self, info: Info) -> list[SessionObject]:
        """Return the caller's active sessions, most recently used first."""
        return await sessions.list_sessions(info.context.scope)  # type: ignore[return-value]

    @root_field(STAFF_AND_VENDORS)
    async def api_keys(self, info: Info, user_id: ID | None = None) -> list[ApiKeyObject]:
        """Return the active API keys of the caller, or of a user whose account the caller may administer, newest first."""
        scope = info.context.scope
        return await api_keys.list_api_keys(scope, _user_or_caller(scope, user_id))  # type: ignore[return-value]


@declare
class SignInQueries:
    """Queries of the sign-in routes."""

    @root_field(ANYONE, internal=True)
    async def signing_keys(self, info: Info) -> list[JsonWebKeyObject]:
        """Return the public keys that verify access tokens, the current signing key first."""
        key_set = await process_key_ring().jwks(info.context.scope.now)
        return key_set["keys"]  # type: ignore[return-value]


@declare
class SignInMutations:
    """Mutations of the sign-in routes."""

    @root_field(ANYONE, secret=True, when_read_only=True)
    async def sign_in(
        self, info: Info, identifier: str | None = None, password: str | None = None
    ) -> SignInAnswerObject:
        """Sign in with an e-mail address, CPF, CNPJ or phone number and a password. At most five attempts per minute per client address."""
        return _sign_in_answer(await sessions.login(info.context.scope, identifier, password))

    @root_field(ANYONE, secret=True, when_read_only=True)
    async def sign_in_verify(
        self, info: Info, temp_token: str | None = None, code: str | None = None
    ) -> TokenPairObject:
        """Answer a two-factor challenge with a code; the fifth wrong code invalidates it."""
        return await sessions.verify_two_factor(info.context.scope, temp_token, code)  # type: ignore[return-value]

    @root_field(ANYONE, secret=True, when_read_only=True)
    async def sign_in_with_key(self, info: Info, key: str | None = None) -> SignInAnswerObject:
        """Sign in with a key that an administrator created for the user's e-mail: valid for 60 seconds and once."""
        return _sign_in_answer(await sign_in_keys.sign_in_with_key(info.context.scope, key))

    @root_field(Access(privileges=("manage_users",)), secret=True, when_read_only=True)
    async def sign_in_key_create(self, info: Info, email: str | None = None) -> SignInKeyObject:
        """Create a key that signs a user in without a password, whose account the caller may administer: valid for 60 seconds and once
        (`sign_in_with_key`).
        """
        return await sign_in_keys.create_sign_in_key(info.context.scope, email)  # type: ignore[return-value]

    @root_field(ANYONE, secret=True, when_read_only=True)
    async def session_refresh(self, info: Info, refresh_token: str | None = None) -> TokenPairObject:
        """Exchange a refresh token, which is valid once, for a new token pair; reusing an old one revokes its session."""
        return await sessions.refresh(info.context.scope, refresh_token)  # type: ignore[return-value]

    @root_field(ANYONE, when_read_only=True)
    async def sign_out(self, info: Info, refresh_token: str | None = None) -> SignedOutObject:
        """Revoke the session of a refresh token; unknown and expired tokens are accepted."""
        await sessions.logout(info.context.scope, refresh_token)
        return acknowledgement(LOGGED_OUT)

    @root_field(ANYONE, internal=True, when_read_only=True)
    async def legacy_token_create(
        self,
        info: Info,
        email: str | None = None,
        cnpj: str | None = None,
        password: str | None = None,
        code: str | None = None,
    ) -> LegacyTokenObject:
        """Exchange an e-mail or CNPJ and a password for a legacy token."""
        scope = info.context.scope
        return await legacy_tokens.issue_legacy_token(scope, email, cnpj, password, code)  # type: ignore[return-value]


@declare
class AccountMutations:
    """Mutations of the caller's account."""

    session_end = delete_field(
        SIGNED_IN_USERS,
        "Revoke one of the caller's sessions; its tokens are revoked immediately.",
        sessions.revoke_session,
    )

    @root_field(SIGNED_IN_USERS)
    async def sign_out_everywhere(self, info: Info) -> SignedOutObject:
        """Revoke all sessions of the caller, including the current one, and all legacy tokens."""
        await sessions.logout_all(info.context.scope)
        return acknowledgement(sessions.LOGGED_OUT_EVERYWHERE)

    @root_field(STAFF_AND_VENDORS, secret=True)
    async def api_key_create(self, info: Info, name: str = "", user_id: ID | None = None) -> NewApiKeyObject:
        """Create an API key for the caller, or for a user whose account the caller may administer and whose privileges the caller has. The
        secret is returned only once.
        """
        scope = info.context.scope
        created = await api_keys.create_api_key(scope, _user_or_caller(scope, user_id), name)
        return Row(key=created.secret, api_key=created.info)  # type: ignore[return-value]

    api_key_revoke = delete_field(STAFF_AND_VENDORS, "Revoke an API key immediately.", api_keys.revoke_api_key)


def _user_or_caller(scope: Scope, user_id: str | None) -> Any:
    """Return the requested user id, defaulting to the caller."""
    if user_id is not None:
        return user_id
    if scope.actor.user_public_id is None:
        raise Forbidden("insufficient permissions")
    return scope.actor.user_public_id


def _sign_in_answer(result: sessions.SessionTokens | Challenge) -> SignInAnswerObject:
    """Convert a token pair or a challenge to a `SignInAnswer`."""
    empty = dict.fromkeys(("access_token", "refresh_token", "expires_at", "temp_token"))
    if isinstance(result, Challenge):
        values = empty | {"requires_2fa": True, "temp_token": result.temp_token}
    else:
        values = empty | {
            "requires_2fa": False,
            "access_token": result.access_token,
            "refresh_token": result.refresh_token,
            "expires_at": result.expires_at,
        }
    return Row(**values)  # type: ignore[return-value]


QUERIES = (AccountQueries, SignInQueries)
MUTATIONS = (SignInMutations, AccountMutations)
