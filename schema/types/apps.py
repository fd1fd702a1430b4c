"""Define apps, their installations and OAuth tokens, and storefront keys."""

from __future__ import annotations

from auth.access import Access
from domain.apps.read import INSTALLED_APPS, STOREFRONT_KEYS, of_app
from schema.enums import AppMode
from schema.fields import column, entity_type, object_type, output_field
from schema.inputs import input_type, optional_field, required_field
from schema.scalars import ID, DateTime
from schema.types.sessions import ANYONE

# App administration requires a user token (docs/reference/graphql.md#access).
VIEW_APPS = Access(privileges=("view_apps",), user_only=True)
MANAGE_APPS = Access(privileges=("manage_apps",), user_only=True)


@object_type("AppCallUrls", access=ANYONE)
class AppCallUrlsObject:
    """The addresses at which an app is called (docs/reference/apps.md#calls-to-apps)."""

    payments: str | None = output_field("The address of the calls of the kind `payments`.")
    shipping_rates: str | None = output_field("The address of the calls of the kind `shipping_rates`.")


@object_type("App", access=VIEW_APPS)
class AppObject:
    """A registered app, which any store may install."""

    id: ID = output_field("The unique ID (UUID).")
    client_id: str = output_field("The OAuth client ID.")
    name: str = output_field("The display name of the app.")
    mode: AppMode = output_field("The mode.")
    redirect_uris: list[str] = output_field("The allowed redirect URIs.")
    scopes: list[str] = output_field("The scopes the app may request.")
    created_at: DateTime = output_field("When the app was registered.")
    call_urls: AppCallUrlsObject = output_field("The addresses at which the app is called.")


@object_type("NewApp", access=MANAGE_APPS)
class NewAppObject:
    """A newly registered app with its client secret."""

    id: ID = output_field("The unique ID (UUID).")
    client_id: str = output_field("The OAuth client ID.")
    client_secret: str = output_field("The OAuth client secret. Returned only once.")
    name: str = output_field("The display name of the app.")
    mode: AppMode = output_field("The mode.")
    redirect_uris: list[str] = output_field("The allowed redirect URIs.")
    scopes: list[str] = output_field("The scopes the app may request.")
    created_at: DateTime = output_field("When the app was registered.")
    call_urls: AppCallUrlsObject = output_field("The addresses at which the app is called.")


@object_type("AppApproval", access=MANAGE_APPS)
class AppApprovalObject:
    """The authorization code issued for an approved app."""

    code: str = output_field(
        "The single-use authorization code, exchanged for tokens at `POST /api/v1/oauth/token` within 10 minutes."
    )
    redirect_to: str = output_field(
        "The app's redirect URI with `code` and `state`, to which the administrator is redirected."
    )


@object_type("AppTokens", access=ANYONE)
class AppTokensObject:
    """An OAuth token pair of an app."""

    access_token: str = output_field("The access token, sent as `Authorization: Bearer`.")
    refresh_token: str = output_field("The single-use refresh token.")
    expires_in: int = output_field("The lifetime of the access token, in seconds.")
    scopes: list[str] = output_field("The granted scopes.")


@object_type("AppTokenRevoked", access=ANYONE)
class AppTokenRevokedObject:
    """The result of a token revocation."""

    revoked: bool = output_field("Always true, also for unknown and expired tokens.")


@object_type("AskedScope", access=ANYONE)
class AskedScopeObject:
    """A scope requested by an app."""

    name: str = output_field("The name of the scope.")
    privilege: str = output_field("The privilege required to approve the scope.")


@object_type("AppConsent", access=ANYONE)
class AppConsentObject:
    """The content of the OAuth consent page."""

    name: str = output_field("The app's name.")
    mode: AppMode = output_field("The mode.")
    store: str = output_field("The name of the store.")
    redirect_uri: str = output_field("The requested redirect URI.")
    scopes: list[AskedScopeObject] = output_field("The requested scopes.")
    deny_to: str = output_field("The redirect URI used when the administrator denies the request.")
    error_to: str | None = output_field("The redirect URI for an invalid request, linked from the page.")


@entity_type(INSTALLED_APPS, "InstalledApp")
class InstalledAppObject:
    """An app installed in the store."""

    id: ID = column("public_id", "The unique ID (UUID).")
    client_id: str = column(of_app("client_id"), "The app's OAuth client ID.")
    name: str = column(of_app("name"), "The app's name.")
    mode: AppMode = column(of_app("mode"), "The mode.")
    scopes: list[str] = column(description="The scopes granted by the store.")
    rate_limit: int = column(description="The rate limit, in requests per minute.")
    installed_at: DateTime = column(description="When the app was installed.")
    updated_at: DateTime = column(description="When the installation was last approved or updated.")


@entity_type(STOREFRONT_KEYS, "StorefrontKey")
class StorefrontKeyObject:
    """The API key of a headless storefront. The key itself is returned only on creation."""

    id: ID = column("public_id", "The unique ID (UUID).")
    name: str = column(description="The name that describes the key's purpose.")
    hint: str = column(description="The last four characters of the key.")
    scopes: list[str] = column(description="The granted scopes.")
    rate_limit: int = column(description="The rate limit of all callers together, in requests per minute.")
    per_address: int = column(description="The rate limit of one client address, in requests per minute; 0 for none.")
    server_side: bool = column(description="Whether the key is used by a server.")
    trusted_documents_only: bool = column(description="Whether the key accepts nothing but its trusted documents.")
    created_at: DateTime = column(description="When the record was created.")
    last_used_at: DateTime | None = column(description="When the key was last used, with minute precision.")


@object_type("TrustedDocuments", access=ANYONE)
class TrustedDocumentsObject:
    """The trusted documents of a storefront key or an app after a change."""

    count: int = output_field("The number of documents.")
    characters: int = output_field("The length of all documents together, in characters.")
    trusted_documents_only: bool = output_field("Whether the key accepts nothing else.")


@object_type("NewStorefrontKey", access=MANAGE_APPS)
class NewStorefrontKeyObject:
    """A newly created storefront key."""

    key: str = output_field("The key, sent as `X-API-Key`. Returned only once.")
    storefront_key: StorefrontKeyObject = output_field("The storefront key record.")


@input_type
class AppCallUrlsInput:
    """The addresses at which an app is called: https and publicly reachable; null for none."""

    payments: str | None = optional_field("The address of the calls of the kind `payments`.")
    shipping_rates: str | None = optional_field("The address of the calls of the kind `shipping_rates`.")


@input_type
class AppInput:
    """An app."""

    name: str | None = required_field("The display name shown on the consent page.")
    redirect_uris: list[str] | None = required_field(
        "The allowed redirect URIs, 1 to 10: https, or http on localhost; compared exactly."
    )
    scopes: list[str] | None = required_field("The scopes the app may request: `read_orders`, `write_products`, etc.")
    mode: AppMode | None = optional_field(
        "The mode, `live` by default; part of the issued tokens.", text_internally=True
    )
    call_urls: AppCallUrlsInput | None = optional_field("The addresses at which the app is called.")


@input_type
class InstalledAppInput:
    """Changes to an installed app."""

    scopes: list[str] | None = optional_field("The remaining scopes, a subset of the approved ones.")
    rate_limit: int | None = optional_field("The rate limit, in requests per minute, 1 to 100000.")


@input_type
class StorefrontKeyInput:
    """A storefront API key."""

    name: str | None = optional_field("The name that describes the key's purpose.")
    scopes: list[str] | None = optional_field(
        "Any of `storefront:read`, `storefront:cart`, `storefront:checkout`; defaults to all three."
    )
    rate_limit: int | None = optional_field(
        "The rate limit of all callers together, in requests per minute, 1 to 100000; defaults to 60000."
    )
    per_address: int | None = optional_field(
        "The rate limit of one client address, in requests per minute, 0 (none) to 100000; "
        "defaults to 1200, or to `rate_limit` where that is lower."
    )
    server_side: bool | None = optional_field(
        "Whether the key is used by a server, which may act for customers without their token."
    )
