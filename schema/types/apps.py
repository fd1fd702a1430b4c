"""Define apps, what stores let them do, and the keys of storefronts."""

from __future__ import annotations

import strawberry

from auth.access import Access
from domain.apps.read import INSTALLED_APPS, STOREFRONT_KEYS, of_app
from schema.fields import column, entity, part
from schema.scalars import Ident, Time
from schema.types.sessions import ANYBODY

# The administration of apps takes user tokens only (decisions section 8, Access).
SEE_APPS = Access(privileges=("view_apps",), user_only=True)
MANAGE_APPS = Access(privileges=("manage_apps",), user_only=True)


@part("App", "An app of the platform, which any store may install.", access=SEE_APPS)
class AppObject:
    """An app that was registered."""

    id: Ident = strawberry.field(description="The UUID.")
    client_id: str = strawberry.field(description="The name by which the app proves who it is.")
    name: str = strawberry.field(description="What administrators see.")
    mode: str = strawberry.field(description="`live` or `test`.")
    redirect_uris: list[str] = strawberry.field(description="Where administrators are sent back to.")
    scopes: list[str] = strawberry.field(description="What it may ask for.")
    created_at: Time = strawberry.field(description="When it was registered.")


@part("NewApp", "An app that was just registered.", access=MANAGE_APPS)
class NewAppObject:
    """The one time the secret is shown."""

    id: Ident = strawberry.field(description="The UUID.")
    client_id: str = strawberry.field(description="The name by which the app proves who it is.")
    client_secret: str = strawberry.field(description="The secret that belongs to it. Shown this once.")
    name: str = strawberry.field(description="What administrators see.")
    mode: str = strawberry.field(description="`live` or `test`.")
    redirect_uris: list[str] = strawberry.field(description="Where administrators are sent back to.")
    scopes: list[str] = strawberry.field(description="What it may ask for.")
    created_at: Time = strawberry.field(description="When it was registered.")


@part("AppApproval", "What an approval gives the app.", access=MANAGE_APPS)
class AppApprovalObject:
    """The code, and the address that carries it."""

    code: str = strawberry.field(
        description="What the app exchanges for tokens at `POST /api/v1/oauth/token`, once, within 10 minutes."
    )
    redirect_to: str = strawberry.field(
        description="The app's address with `code` and `state`, where the administrator is sent."
    )


@part("AppTokens", "What the token route of OAuth gives.", access=ANYBODY)
class AppTokensObject:
    """A pair of tokens of an app."""

    access_token: str = strawberry.field(description="The token sent as `Authorization: Bearer`.")
    refresh_token: str = strawberry.field(description="The secret that gives the next pair, once.")
    expires_in: int = strawberry.field(description="How many seconds the access token is good.")
    scopes: list[str] = strawberry.field(description="What it may do.")


@part("AppTokenRevoked", "The end of a token.", access=ANYBODY)
class AppTokenRevokedObject:
    """Tell that a token is good no more, if it ever was."""

    revoked: bool = strawberry.field(description="Always true: unknown and ended tokens are fine.")


@part("AskedScope", "A scope that an app asks for.", access=ANYBODY)
class AskedScopeObject:
    """A scope and what its approver needs."""

    name: str = strawberry.field(description="The scope.")
    privilege: str = strawberry.field(description="The privilege that covers it.")


@part("AppConsent", "What the consent page shows, and where it leads.", access=ANYBODY)
class AppConsentObject:
    """A request for an approval."""

    name: str = strawberry.field(description="The app's name.")
    mode: str = strawberry.field(description="`live` or `test`.")
    store: str = strawberry.field(description="The store's name.")
    redirect_uri: str = strawberry.field(description="The app's address that was asked for.")
    scopes: list[AskedScopeObject] = strawberry.field(description="What the app asks for.")
    deny_to: str = strawberry.field(description="Where a refusal leads.")
    error_to: str | None = strawberry.field(description="Where a wrong request leads at once.")


@entity(INSTALLED_APPS, "InstalledApp", "An app that the store has installed.")
class InstalledAppObject:
    """A row of `app_installations`."""

    id: Ident = column("public_id", "The UUID.")
    client_id: str = column(of_app("client_id"), "The app's client id.")
    name: str = column(of_app("name"), "The app's name.")
    mode: str = column(of_app("mode"), "`live` or `test`.")
    scopes: list[str] = column(description="What the store lets it do.")
    rate_limit: int = column(description="Its requests a minute.")
    installed_at: Time = column(description="When it was installed.")
    updated_at: Time = column(description="When it was last approved or changed.")


@entity(
    STOREFRONT_KEYS, "StorefrontKey", "A key of a headless storefront. The key itself is never shown again."
)
class StorefrontKeyObject:
    """A row of `storefront_keys`."""

    id: Ident = column("public_id", "The UUID.")
    name: str = column(description="What it is for.")
    hint: str = column(description="The last four characters of the key.")
    scopes: list[str] = column(description="What it may do.")
    rate_limit: int = column(description="Its requests a minute.")
    server_side: bool = column(description="Whether it is kept on a server.")
    created_at: Time = column(description="When it was made.")
    last_used_at: Time | None = column(description="When it was last used, to the minute.")


@part("NewStorefrontKey", "A storefront key that was just made.", access=MANAGE_APPS)
class NewStorefrontKeyObject:
    """The one time the key is shown."""

    key: str = strawberry.field(description="The key: `X-API-Key` of the storefront. Shown this once.")
    storefront_key: StorefrontKeyObject = strawberry.field(description="The key as it is listed from now on.")
