"""Sign in and out (internal: the REST sign-in routes are the door), and let people see to their own account."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import strawberry
from strawberry import Info

from auth import api_keys, legacy_tokens, sessions
from auth.challenges import Challenge
from auth.keys import process_ring
from domain.people.read import USERS
from kernel.errors import Forbidden, NotFound
from kernel.scope import Scope
from models import reading
from models.reading import Row, Selection, Where
from resolvers.changes import DeletedRecord, deleted
from schema.fields import root
from schema.scalars import Ident
from schema.selection import selection_below
from schema.types.people import UserObject
from schema.types.sessions import (
    ANYBODY,
    PEOPLE,
    STAFF,
    ApiKeyObject,
    JsonWebKeyObject,
    LegacyTokenObject,
    NewApiKeyObject,
    SessionObject,
    SignedOutObject,
    SignInAnswerObject,
    TokenPairObject,
)

LOGGED_OUT = "logged out"


def _own_row(scope: Scope) -> Where:
    """See oneself, with or without the privilege to see users."""
    if not scope.actor.is_user:
        raise Forbidden("insufficient permissions")
    return Where("t.id = {}::bigint", (scope.actor.user_id,))


_ONESELF = replace(USERS, visible=_own_row)


def _of_oneself(asked: Selection) -> Selection:
    """Open one's own record: its row and its personal fields. Relations go on asking for their own rights."""
    columns = tuple(replace(column, guard=None) for column in asked.columns)
    return Selection(_ONESELF, columns, asked.children)


@strawberry.type
class AccountQueries:
    """What people ask about their own account."""

    @root(PEOPLE, "The caller's own account, personal fields included.")
    async def me(self, info: Info) -> UserObject:
        """Read the caller's own row."""
        scope = info.context.scope
        row = await reading.many(scope, _of_oneself(selection_below(info)), limit=1)
        if not row:
            raise NotFound("user")
        return row[0]  # type: ignore[return-value]

    @root(PEOPLE, "The caller's live sessions, the one used last first.")
    async def sessions(self, info: Info) -> list[SessionObject]:
        """List the caller's sessions."""
        return await sessions.list_sessions(info.context.scope)  # type: ignore[return-value]

    @root(
        STAFF,
        "The live API keys of the caller, or of a user whose account the caller may administer, the newest first.",
    )
    async def api_keys(self, info: Info, user_id: Ident | None = None) -> list[ApiKeyObject]:
        """List API keys."""
        scope = info.context.scope
        return await api_keys.list_api_keys(scope, _whose(scope, user_id))  # type: ignore[return-value]


@strawberry.type
class SignInQueries:
    """What the sign-in routes ask for those who check tokens themselves."""

    @root(ANYBODY, "The keys whose tokens are good, the signing one first.", internal=True)
    async def signing_keys(self, info: Info) -> list[JsonWebKeyObject]:
        """List the public keys."""
        found = await process_ring().jwks(info.context.scope.now)
        return found["keys"]  # type: ignore[return-value]


@strawberry.type
class SignInMutations:
    """What the sign-in routes of the REST families execute."""

    @root(ANYBODY, "Sign in; every attempt counts, whatever becomes of it.", internal=True)
    async def sign_in(
        self, info: Info, identifier: str | None = None, password: str | None = None
    ) -> SignInAnswerObject:
        """Sign in."""
        return _answer(await sessions.login(info.context.scope, identifier, password))

    @root(ANYBODY, "Answer a two-factor challenge with a code; the fifth wrong one ends it.", internal=True)
    async def sign_in_verify(
        self, info: Info, temp_token: str | None = None, code: str | None = None
    ) -> TokenPairObject:
        """Complete a sign-in with a code."""
        return await sessions.verify_two_factor(info.context.scope, temp_token, code)  # type: ignore[return-value]

    @root(ANYBODY, "Exchange a refresh token for the next pair.", internal=True)
    async def session_refresh(self, info: Info, refresh_token: str | None = None) -> TokenPairObject:
        """Refresh a session."""
        return await sessions.refresh(info.context.scope, refresh_token)  # type: ignore[return-value]

    @root(ANYBODY, "End the session of a refresh token; unknown and ended ones are fine.", internal=True)
    async def sign_out(self, info: Info, refresh_token: str | None = None) -> SignedOutObject:
        """Sign out of one device."""
        await sessions.logout(info.context.scope, refresh_token)
        return _signed_out(LOGGED_OUT)

    @root(ANYBODY, "Exchange an e-mail or CNPJ and a password for a legacy token.", internal=True)
    async def legacy_token_create(
        self,
        info: Info,
        email: str | None = None,
        cnpj: str | None = None,
        password: str | None = None,
        code: str | None = None,
    ) -> LegacyTokenObject:
        """Make a legacy token."""
        scope = info.context.scope
        return await legacy_tokens.issue_legacy_token(scope, email, cnpj, password, code)  # type: ignore[return-value]


@strawberry.type
class AccountMutations:
    """What people change about their own account."""

    @root(PEOPLE, "End one of the caller's own sessions; its tokens stop working at once.")
    async def session_end(self, info: Info, id: Ident) -> DeletedRecord:
        """End a session."""
        await sessions.end_session(info.context.scope, id)
        return deleted(id)  # type: ignore[no-any-return]

    @root(PEOPLE, "End every session of the caller, this one too, and every legacy token.")
    async def sign_out_everywhere(self, info: Info) -> SignedOutObject:
        """Sign out of all devices."""
        await sessions.logout_all(info.context.scope)
        return _signed_out(sessions.LOGGED_OUT_EVERYWHERE)

    @root(
        STAFF,
        "Make an API key for the caller, or for a user whose account the caller may administer and whose privileges they hold. The"
        " secret is shown this once.",
        secret=True,
    )
    async def api_key_create(
        self, info: Info, name: str = "", user_id: Ident | None = None
    ) -> NewApiKeyObject:
        """Make an API key."""
        scope = info.context.scope
        made = await api_keys.create_api_key(scope, _whose(scope, user_id), name)
        return Row(key=made.secret, api_key=made.info)  # type: ignore[return-value]

    @root(STAFF, "Revoke an API key at once.")
    async def api_key_revoke(self, info: Info, id: Ident) -> DeletedRecord:
        """Revoke an API key."""
        await api_keys.revoke_api_key(info.context.scope, id)
        return deleted(id)  # type: ignore[no-any-return]


def _whose(scope: Scope, user_id: str | None) -> Any:
    """Name the user given, else the caller."""
    if user_id is not None:
        return user_id
    if scope.actor.user_public_id is None:
        raise Forbidden("insufficient permissions")
    return scope.actor.user_public_id


def _answer(result: sessions.SignedIn | Challenge) -> SignInAnswerObject:
    """Show a pair or a challenge in one form, of which the other half is empty."""
    empty = dict.fromkeys(("access_token", "refresh_token", "expires_at", "temp_token"))
    if isinstance(result, Challenge):
        shown = empty | {"requires_2fa": True, "temp_token": result.temp_token}
    else:
        shown = empty | {
            "requires_2fa": False,
            "access_token": result.access_token,
            "refresh_token": result.refresh_token,
            "expires_at": result.expires_at,
        }
    return Row(**shown)  # type: ignore[return-value]


def _signed_out(message: str) -> SignedOutObject:
    return Row(message=message)  # type: ignore[return-value]


QUERIES = (AccountQueries, SignInQueries)
MUTATIONS = (SignInMutations, AccountMutations)
