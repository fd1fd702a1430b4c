"""Register, install and remove apps, give them tokens (internal: the OAuth routes are the door), make storefront keys."""

from __future__ import annotations

import strawberry
from strawberry import Info

from auth import apps, consent, installations, oauth, storefront_keys
from domain.apps.read import INSTALLED_APPS, STOREFRONT_KEYS
from models import reading
from models.reading import Row
from resolvers.changes import DeletedRecord, deleted, renamed, shown
from resolvers.reads import reads
from schema.fields import root
from schema.inputs.apps import AppInput, InstalledAppInput, StorefrontKeyInput
from schema.scalars import Ident
from schema.selection import asked, selection_below
from schema.types.apps import (
    MANAGE_APPS,
    SEE_APPS,
    AppApprovalObject,
    AppConsentObject,
    AppObject,
    AppTokenRevokedObject,
    AppTokensObject,
    InstalledAppObject,
    NewAppObject,
    NewStorefrontKeyObject,
    StorefrontKeyObject,
)
from schema.types.sessions import ANYBODY


@strawberry.type
class AppQueries:
    """What else can be asked about apps."""

    @root(SEE_APPS, "The apps that were registered in this store, the oldest first.")
    async def registered_apps(self, info: Info) -> list[AppObject]:
        """List the store's own apps."""
        return await apps.list_registered(info.context.scope)  # type: ignore[return-value]

    @root(ANYBODY, "What the consent page shows for a request.", internal=True)
    async def app_consent(
        self,
        info: Info,
        client_id: str | None = None,
        redirect_uri: str | None = None,
        response_type: str | None = None,
        scopes: str | None = None,
        state: str | None = None,
        code_challenge: str | None = None,
        code_challenge_method: str | None = None,
    ) -> AppConsentObject:
        """Look at a request for an approval."""
        return await consent.asked(  # type: ignore[return-value]
            info.context.scope,
            client_id=client_id,
            redirect_uri=redirect_uri,
            response_type=response_type,
            scopes=scopes,
            state=state,
            code_challenge=code_challenge,
            code_challenge_method=code_challenge_method,
        )


@strawberry.type
class AppMutations:
    """What administrators do with apps."""

    @root(
        MANAGE_APPS,
        "Register an app, which any store may install. The secret is shown this once.",
        secret=True,
    )
    async def app_register(self, info: Info, input: AppInput) -> NewAppObject:
        """Register an app."""
        return await apps.register_app(info.context.scope, renamed(input, {}))  # type: ignore[return-value]

    @root(
        MANAGE_APPS,
        "Install an app with these scopes, or approve it anew. They must lie within the app's, and each be covered by a privilege of"
        " the caller. `redirect_uri` may be left out where the app has one; `code_challenge` is PKCE's, method S256.",
        secret=True,
    )
    async def app_install(
        self,
        info: Info,
        client_id: str,
        scopes: list[str],
        redirect_uri: str | None = None,
        state: str | None = None,
        code_challenge: str | None = None,
    ) -> AppApprovalObject:
        """Approve an app."""
        return await installations.approve(  # type: ignore[return-value]
            info.context.scope, client_id, scopes, redirect_uri, state, code_challenge
        )

    @root(MANAGE_APPS, "Take scopes away from an installed app, at once, or set its requests a minute.")
    async def installed_app_update(
        self, info: Info, id: Ident, input: InstalledAppInput
    ) -> InstalledAppObject | None:
        """Narrow an installation."""
        given = renamed(input, {})
        number = await installations.narrow(
            info.context.scope, id, given.get("scopes"), given.get("rate_limit")
        )
        return await shown(info, INSTALLED_APPS, number)

    @root(MANAGE_APPS, "Remove an installed app; its tokens stop working at once.")
    async def app_uninstall(self, info: Info, id: Ident) -> DeletedRecord:
        """Remove an app."""
        await installations.uninstall(info.context.scope, id)
        return deleted(id)


@strawberry.type
class AppTokenMutations:
    """What the OAuth routes execute."""

    @root(ANYBODY, "Exchange an authorization code for tokens.", internal=True)
    async def app_code_exchange(
        self,
        info: Info,
        client_id: str | None = None,
        client_secret: str | None = None,
        code: str | None = None,
        redirect_uri: str | None = None,
        code_verifier: str | None = None,
    ) -> AppTokensObject:
        """Exchange a code."""
        return await oauth.exchange_code(  # type: ignore[return-value]
            info.context.scope, client_id, client_secret, code, redirect_uri, code_verifier
        )

    @root(ANYBODY, "Exchange an app's refresh token for the next pair.", internal=True)
    async def app_token_renew(
        self,
        info: Info,
        client_id: str | None = None,
        client_secret: str | None = None,
        refresh_token: str | None = None,
        scope: str | None = None,
    ) -> AppTokensObject:
        """Renew an app's tokens."""
        return await oauth.renew(  # type: ignore[return-value]
            info.context.scope, refresh_token, client_id, client_secret, scope
        )

    @root(ANYBODY, "Revoke a token of an app; unknown and ended ones are fine.", internal=True)
    async def app_token_revoke(
        self,
        info: Info,
        client_id: str | None = None,
        client_secret: str | None = None,
        token: str | None = None,
    ) -> AppTokenRevokedObject:
        """Revoke an app's token."""
        await oauth.revoke(info.context.scope, token, client_id, client_secret)
        return Row(revoked=True)  # type: ignore[return-value]


@strawberry.type
class StorefrontKeyMutations:
    """What administrators do with storefront keys."""

    @root(MANAGE_APPS, "Make a storefront key. It is shown this once.", secret=True)
    async def storefront_key_create(self, info: Info, input: StorefrontKeyInput) -> NewStorefrontKeyObject:
        """Make a storefront key."""
        scope = info.context.scope
        made = await storefront_keys.create_storefront_key(scope, renamed(input, {}))
        result = Row(key=made.key)
        if asked(info, "storefront_key"):
            result["storefront_key"] = await reading.one(
                scope, selection_below(info, "storefront_key"), made.number
            )
        return result  # type: ignore[return-value]

    @root(MANAGE_APPS, "Revoke a storefront key at once.")
    async def storefront_key_revoke(self, info: Info, id: Ident) -> DeletedRecord:
        """Revoke a storefront key."""
        await storefront_keys.revoke_storefront_key(info.context.scope, id)
        return deleted(id)


QUERIES = (
    AppQueries,
    reads(InstalledAppObject, INSTALLED_APPS, "installed_app", "installed_apps"),
    reads(StorefrontKeyObject, STOREFRONT_KEYS, "storefront_key", "storefront_keys"),
)
MUTATIONS = (AppMutations, AppTokenMutations, StorefrontKeyMutations)
