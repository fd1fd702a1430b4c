"""Resolve apps, their installations, OAuth tokens (internal, for the OAuth routes) and storefront keys."""

from __future__ import annotations

from strawberry import Info

from auth import storefront_keys
from domain.apps import consent, installations, oauth, registration, trusted_documents
from models.reading.queries import Row
from resolvers.engine.complete import load_member, load_record
from resolvers.entity_queries import build_entity_queries
from resolvers.mutation_helpers import delete_field, rename_fields
from schema.declaration import declare
from schema.fields import root_field
from schema.inputs import provided_fields
from schema.scalars import ID
from schema.types.app_calls import AppCallObject
from schema.types.apps import (
    MANAGE_APPS,
    VIEW_APPS,
    AppApprovalObject,
    AppCallUrlsInput,
    AppCallUrlsObject,
    AppConsentObject,
    AppInput,
    AppObject,
    AppTokenRevokedObject,
    AppTokensObject,
    InstalledAppInput,
    InstalledAppObject,
    NewAppObject,
    NewStorefrontKeyObject,
    StorefrontKeyInput,
    StorefrontKeyObject,
    TrustedDocumentsObject,
)
from schema.types.schema_usage import SchemaUsageObject
from schema.types.sessions import ANYONE
from schema.types.webhooks import APPS_ONLY, MANAGE_ENDPOINTS


@declare
class AppQueries:
    """Further queries about apps."""

    @root_field(VIEW_APPS)
    async def registered_apps(self, info: Info) -> list[AppObject]:
        """Return the apps registered in this store, oldest first."""
        return await registration.list_registered_apps(info.context.scope)  # type: ignore[return-value]

    @root_field(ANYONE, internal=True)
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
        """Return the content of the OAuth consent page."""
        return await consent.load_consent(  # type: ignore[return-value]
            info.context.scope,
            client_id=client_id,
            redirect_uri=redirect_uri,
            response_type=response_type,
            scopes=scopes,
            state=state,
            code_challenge=code_challenge,
            code_challenge_method=code_challenge_method,
        )


@declare
class AppMutations:
    """Mutations of apps."""

    @root_field(MANAGE_APPS, secret=True)
    async def app_register(self, info: Info, input: AppInput) -> NewAppObject:
        """Register an app, which any store may install. The client secret is returned only once."""
        return await registration.register_app(info.context.scope, rename_fields(input, {}))  # type: ignore[return-value]

    @root_field(MANAGE_APPS, secret=True)
    async def app_install(
        self,
        info: Info,
        client_id: str,
        scopes: list[str],
        redirect_uri: str | None = None,
        state: str | None = None,
        code_challenge: str | None = None,
    ) -> AppApprovalObject:
        """Install an app with these scopes, or update its approval. Each scope must be one of the app's and covered by a privilege of the
        caller. `redirect_uri` is optional if the app has only one; `code_challenge` is the PKCE challenge, method S256.
        """
        return await installations.approve_app(  # type: ignore[return-value]
            info.context.scope, client_id, scopes, redirect_uri, state, code_challenge
        )

    @root_field(MANAGE_APPS)
    async def installed_app_update(self, info: Info, id: ID, input: InstalledAppInput) -> InstalledAppObject | None:
        """Revoke scopes of an installed app, effective immediately, or set its rate limit."""
        fields = rename_fields(input, {})
        number = await installations.restrict_installation(
            info.context.scope, id, fields.get("scopes"), fields.get("rate_limit")
        )
        return await load_record(info, number)

    @root_field(APPS_ONLY)
    async def app_call_urls_set(
        self, info: Info, input: AppCallUrlsInput, client_secret: str | None = None
    ) -> AppCallUrlsObject:
        """Change the addresses at which the calling app is called, in all stores; omitted ones stay."""
        return await registration.set_call_urls(  # type: ignore[return-value]
            info.context.scope, client_secret, provided_fields(input)
        )

    app_uninstall = delete_field(
        MANAGE_APPS, "Uninstall an app; its tokens are revoked immediately.", installations.uninstall_app
    )


@declare
class AppTokenMutations:
    """Mutations of the OAuth routes."""

    @root_field(ANYONE, internal=True)
    async def app_code_exchange(
        self,
        info: Info,
        client_id: str | None = None,
        client_secret: str | None = None,
        code: str | None = None,
        redirect_uri: str | None = None,
        code_verifier: str | None = None,
    ) -> AppTokensObject:
        """Exchange an authorization code for tokens."""
        return await oauth.exchange_code(  # type: ignore[return-value]
            info.context.scope, client_id, client_secret, code, redirect_uri, code_verifier
        )

    @root_field(ANYONE, internal=True, when_read_only=True)
    async def app_token_renew(
        self,
        info: Info,
        client_id: str | None = None,
        client_secret: str | None = None,
        refresh_token: str | None = None,
        scope: str | None = None,
    ) -> AppTokensObject:
        """Exchange an app's refresh token for a new token pair."""
        return await oauth.refresh_app_tokens(  # type: ignore[return-value]
            info.context.scope, refresh_token, client_id, client_secret, scope
        )

    @root_field(ANYONE, internal=True)
    async def app_token_revoke(
        self, info: Info, client_id: str | None = None, client_secret: str | None = None, token: str | None = None
    ) -> AppTokenRevokedObject:
        """Revoke a token of an app; unknown and expired tokens are accepted."""
        await oauth.revoke_app_token(info.context.scope, token, client_id, client_secret)
        return Row(revoked=True)  # type: ignore[return-value]


@declare
class StorefrontKeyMutations:
    """Mutations of storefront keys."""

    @root_field(MANAGE_APPS, secret=True)
    async def storefront_key_create(self, info: Info, input: StorefrontKeyInput) -> NewStorefrontKeyObject:
        """Create a storefront key. The key is returned only once."""
        scope = info.context.scope
        created = await storefront_keys.create_storefront_key(scope, rename_fields(input, {}))
        key = await load_member(info, "storefront_key", created.number)
        return Row(key=created.key, storefront_key=key)  # type: ignore[return-value]

    storefront_key_revoke = delete_field(
        MANAGE_APPS, "Revoke a storefront key immediately.", storefront_keys.revoke_storefront_key
    )


@declare
class TrustedDocumentMutations:
    """Mutations of trusted documents."""

    @root_field(MANAGE_ENDPOINTS)
    async def trusted_documents_set(
        self,
        info: Info,
        documents: list[str],
        storefront_key_id: ID | None = None,
        keep_others: bool = False,
        trusted_documents_only: bool | None = None,
    ) -> TrustedDocumentsObject:
        """Register the trusted documents of a storefront key, or of the calling app, in place of those that it has unless `keep_others`.
        With `trusted_documents_only` the key accepts nothing else; without it that stays as it is.
        """
        return await trusted_documents.set_trusted_documents(  # type: ignore[return-value]
            info.context.scope,
            documents,
            storefront_key_id,
            keep_others=keep_others,
            trusted_documents_only=trusted_documents_only,
        )


QUERIES = (
    AppQueries,
    build_entity_queries(InstalledAppObject),
    build_entity_queries(AppCallObject),
    build_entity_queries(StorefrontKeyObject),
    build_entity_queries(SchemaUsageObject),
)
MUTATIONS = (AppMutations, AppTokenMutations, StorefrontKeyMutations, TrustedDocumentMutations)
