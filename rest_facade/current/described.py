"""Describe the routes of the current API for readers."""

from __future__ import annotations

from rest_facade.collections import COLLECTIONS
from rest_facade.current import storefront_described
from rest_facade.current.admin import PREFIX
from rest_facade.current.gateway import LIST
from rest_facade.deliveries_described import endpoint_routes
from rest_facade.described import (
    MOMENT,
    PAGE,
    TEXT,
    WHOLE,
    YES_NO,
    Answer,
    Key,
    Takes,
    Told,
    array,
    given,
    message,
    record,
    size,
)
from rest_facade.lists import DEFAULT_SIZE, MOST
from rest_facade.shop_described import STATUS_BODY, collection_routes

_AUTH = "/api/v1/auth"
_PAIR = record(access_token=TEXT, refresh_token=TEXT, expires_at=MOMENT)
_CHALLENGE = record(requires_2fa=YES_NO, temp_token=TEXT)
_APP_TOKENS = record(
    access_token=TEXT,
    refresh_token=TEXT,
    token_type=TEXT,
    expires_in=WHOLE,
    scopes=array(TEXT),
    scope=TEXT,
)
_NOTIFICATION = record(
    "id", "event_id", "event_type", "processed", "error_message", "created_at",
    id=WHOLE, event_id=TEXT, event_type=TEXT, charge_id=TEXT, processed=YES_NO, error_message=TEXT, created_at=MOMENT,
)  # fmt: skip
_PAGES = {"page": PAGE, "per_page": size(DEFAULT_SIZE, MOST)}


def told() -> dict[Key, Told]:
    """Give the description of every route that needs more than its own words."""
    found: dict[Key, Told] = {}
    for collection in COLLECTIONS:
        found.update(collection_routes(collection, "Admin", PREFIX))
    found.update(endpoint_routes(f"{PREFIX}/event-endpoints", "Admin", "per_page"))
    return {**found, **_SIGN_IN, **_OAUTH, **_ADMIN, **_GATEWAY, **storefront_described.told()}


_SIGN_IN: dict[Key, Told] = {
    ("POST", f"{_AUTH}/login"): Told(
        "Sign in",
        {"anyOf": [_PAIR, _CHALLENGE]},
        body=given("password", email=TEXT, identifier=TEXT, password=TEXT),
    ),
    ("POST", f"{_AUTH}/verify-2fa"): Told(
        "Answer a two-factor challenge", _PAIR, body=given("temp_token", "code", temp_token=TEXT, code=TEXT)
    ),
    ("POST", f"{_AUTH}/refresh"): Told(
        "Exchange a refresh token for the next pair",
        _PAIR,
        body=given("refresh_token", refresh_token=TEXT),
    ),
    ("POST", f"{_AUTH}/logout"): Told(
        "End the session of a refresh token", message(), body=given("refresh_token", refresh_token=TEXT)
    ),
    ("POST", f"{_AUTH}/logout-all"): Told("End every session of the caller", message()),
    ("GET", f"{_AUTH}/sessions"): Told(
        "List the caller's sessions", record(sessions=Answer("Sessions"), total=WHOLE)
    ),
    ("DELETE", f"{_AUTH}/sessions/{{id}}"): Told("End one of the caller's sessions", message()),
    ("GET", f"{_AUTH}/me"): Told("Show the caller's own account", Answer("Me")),
    ("POST", f"{_AUTH}/register"): Told(
        "Register a shopper",
        message(),
        status=201,
        body=given(
            "email", "password", "name",
            email=TEXT, password=TEXT, name=TEXT, cpf=TEXT, cnpj=TEXT, phone=TEXT,
        ),
    ),
    ("POST", f"{_AUTH}/email/verify"): Told(
        "Confirm an e-mail address", message(), body=given("token", token=TEXT)
    ),
    ("POST", f"{_AUTH}/email/resend"): Told(
        "Mail another confirmation", message(), body=given("email", email=TEXT)
    ),
    ("POST", f"{_AUTH}/password/forgot"): Told(
        "Mail a token for a new password", message(), body=given("email", email=TEXT)
    ),
    ("POST", f"{_AUTH}/password/reset"): Told(
        "Set a new password", message(), body=given("token", "password", token=TEXT, password=TEXT)
    ),
}  # fmt: skip

_CLIENT = {"client_id": TEXT, "client_secret": TEXT}
_OAUTH: dict[Key, Told] = {
    ("POST", "/api/v1/oauth/token"): Told(
        "Exchange an authorization code or a refresh token for an app's tokens",
        _APP_TOKENS,
        body=given(
            "grant_type",
            grant_type={"type": "string", "enum": ["authorization_code", "refresh_token"]},
            **_CLIENT,
            code=TEXT,
            redirect_uri=TEXT,
            code_verifier=TEXT,
            refresh_token=TEXT,
            scope=TEXT,
        ),
        forms=True,
    ),
    ("POST", "/api/v1/oauth/revoke"): Told(
        "Revoke an app's token", record(), body=given("token", **_CLIENT, token=TEXT), forms=True
    ),
}

_ADMIN: dict[Key, Told] = {
    ("PUT", f"{PREFIX}/orders/{{id}}/status"): Told(
        "Set the status of an order", Answer("AdminOrderSetStatus"), body=STATUS_BODY
    ),
    ("GET", f"{PREFIX}/installed-apps"): Told(
        "List installed apps", Answer("AdminInstalledApps"), query=_PAGES
    ),
    ("GET", f"{PREFIX}/installed-apps/{{id}}"): Told("Show one installed app", Answer("AdminInstalledApp")),
    **{
        (method, f"{PREFIX}/installed-apps/{{id}}"): Told(
            "Change an installed app's limit or narrow its scopes",
            Answer("AdminInstalledAppUpdate"),
            body=Takes("AdminInstalledAppUpdate", ("rate_limit", "scopes")),
        )
        for method in ("PUT", "PATCH")
    },
    ("DELETE", f"{PREFIX}/installed-apps/{{id}}"): Told("Remove an app at once", status=204),
    ("GET", f"{PREFIX}/storefront-keys"): Told(
        "List storefront keys", Answer("AdminStorefrontKeys"), query=_PAGES
    ),
    ("POST", f"{PREFIX}/storefront-keys"): Told(
        "Make a storefront key, which this answer alone holds",
        {"type": "object"},
        status=201,
        body=Takes("AdminStorefrontKeyCreate", ("name", "scopes", "rate_limit", "server_side")),
    ),
    ("GET", f"{PREFIX}/storefront-keys/{{id}}"): Told(
        "Show one storefront key", Answer("AdminStorefrontKey")
    ),
    ("DELETE", f"{PREFIX}/storefront-keys/{{id}}"): Told("Revoke a storefront key", status=204),
}

_GATEWAY: dict[Key, Told] = {
    ("POST", "/api/v1/webhooks/gateway"): Told(
        "Take a notification of the payment gateway", message(), body={"type": "object"}
    ),
    ("GET", LIST): Told(
        "List the gateway's notifications, newest first",
        record(webhooks=array(_NOTIFICATION), total=WHOLE, page=WHOLE, per_page=WHOLE),
        query={**_PAGES, "processed": {"type": "string", "enum": ["true", "false", "1", "0", "t", "f"]}},
    ),
    ("POST", f"{LIST}/{{id}}/reprocess"): Told("Process a notification again", message()),
}
