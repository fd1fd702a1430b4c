"""Describe the routes of the current API for readers."""

from __future__ import annotations

from rest_facade.collections import COLLECTIONS
from rest_facade.current import storefront_openapi
from rest_facade.current.admin import PREFIX
from rest_facade.current.gateway import LIST
from rest_facade.list_parameters import DEFAULT_SIZE, MOST
from rest_facade.openapi import (
    MOMENT,
    PAGE,
    TEXT,
    WHOLE,
    YES_NO,
    Key,
    OperationResult,
    RouteDocs,
    Takes,
    array,
    given,
    message,
    record,
    size,
)
from rest_facade.shop_described import STATUS_BODY, collection_routes
from rest_facade.webhooks_openapi import endpoint_routes

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


def told() -> dict[Key, RouteDocs]:
    """Give the description of every route that needs more than its own words."""
    found: dict[Key, RouteDocs] = {}
    for collection in COLLECTIONS:
        found.update(collection_routes(collection, "Admin", PREFIX))
    found.update(endpoint_routes(f"{PREFIX}/event-endpoints", "Admin", "per_page"))
    return {**found, **_SIGN_IN, **_OAUTH, **_ADMIN, **_GATEWAY, **storefront_openapi.told()}


_SIGN_IN: dict[Key, RouteDocs] = {
    ("POST", f"{_AUTH}/login"): RouteDocs(
        "Sign in",
        {"anyOf": [_PAIR, _CHALLENGE]},
        body=given("password", email=TEXT, identifier=TEXT, password=TEXT),
    ),
    ("POST", f"{_AUTH}/verify-2fa"): RouteDocs(
        "Answer a two-factor challenge", _PAIR, body=given("temp_token", "code", temp_token=TEXT, code=TEXT)
    ),
    ("POST", f"{_AUTH}/refresh"): RouteDocs(
        "Exchange a refresh token for the next pair",
        _PAIR,
        body=given("refresh_token", refresh_token=TEXT),
    ),
    ("POST", f"{_AUTH}/logout"): RouteDocs(
        "End the session of a refresh token", message(), body=given("refresh_token", refresh_token=TEXT)
    ),
    ("POST", f"{_AUTH}/logout-all"): RouteDocs("End every session of the caller", message()),
    ("GET", f"{_AUTH}/sessions"): RouteDocs(
        "List the caller's sessions", record(sessions=OperationResult("Sessions"), total=WHOLE)
    ),
    ("DELETE", f"{_AUTH}/sessions/{{id}}"): RouteDocs("End one of the caller's sessions", message()),
    ("GET", f"{_AUTH}/me"): RouteDocs("Show the caller's own account", OperationResult("Me")),
    ("POST", f"{_AUTH}/register"): RouteDocs(
        "Register a shopper",
        message(),
        status=201,
        body=given(
            "email", "password", "name",
            email=TEXT, password=TEXT, name=TEXT, cpf=TEXT, cnpj=TEXT, phone=TEXT,
        ),
    ),
    ("POST", f"{_AUTH}/email/verify"): RouteDocs(
        "Confirm an e-mail address", message(), body=given("token", token=TEXT)
    ),
    ("POST", f"{_AUTH}/email/resend"): RouteDocs(
        "Mail another confirmation", message(), body=given("email", email=TEXT)
    ),
    ("POST", f"{_AUTH}/password/forgot"): RouteDocs(
        "Mail a token for a new password", message(), body=given("email", email=TEXT)
    ),
    ("POST", f"{_AUTH}/password/reset"): RouteDocs(
        "Set a new password", message(), body=given("token", "password", token=TEXT, password=TEXT)
    ),
}  # fmt: skip

_CLIENT = {"client_id": TEXT, "client_secret": TEXT}
_OAUTH: dict[Key, RouteDocs] = {
    ("POST", "/api/v1/oauth/token"): RouteDocs(
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
    ("POST", "/api/v1/oauth/revoke"): RouteDocs(
        "Revoke an app's token", record(), body=given("token", **_CLIENT, token=TEXT), forms=True
    ),
}

_ADMIN: dict[Key, RouteDocs] = {
    ("PUT", f"{PREFIX}/orders/{{id}}/status"): RouteDocs(
        "Set the status of an order", OperationResult("AdminOrderSetStatus"), body=STATUS_BODY
    ),
    ("GET", f"{PREFIX}/installed-apps"): RouteDocs(
        "List installed apps", OperationResult("AdminInstalledApps"), query=_PAGES
    ),
    ("GET", f"{PREFIX}/installed-apps/{{id}}"): RouteDocs(
        "Show one installed app", OperationResult("AdminInstalledApp")
    ),
    **{
        (method, f"{PREFIX}/installed-apps/{{id}}"): RouteDocs(
            "Change an installed app's limit or narrow its scopes",
            OperationResult("AdminInstalledAppUpdate"),
            body=Takes("AdminInstalledAppUpdate", ("rate_limit", "scopes")),
        )
        for method in ("PUT", "PATCH")
    },
    ("DELETE", f"{PREFIX}/installed-apps/{{id}}"): RouteDocs("Remove an app at once", status=204),
    ("GET", f"{PREFIX}/storefront-keys"): RouteDocs(
        "List storefront keys", OperationResult("AdminStorefrontKeys"), query=_PAGES
    ),
    ("POST", f"{PREFIX}/storefront-keys"): RouteDocs(
        "Make a storefront key, which this answer alone holds",
        {"type": "object"},
        status=201,
        body=Takes("AdminStorefrontKeyCreate", ("name", "scopes", "rate_limit", "server_side")),
    ),
    ("GET", f"{PREFIX}/storefront-keys/{{id}}"): RouteDocs(
        "Show one storefront key", OperationResult("AdminStorefrontKey")
    ),
    ("DELETE", f"{PREFIX}/storefront-keys/{{id}}"): RouteDocs("Revoke a storefront key", status=204),
}

_GATEWAY: dict[Key, RouteDocs] = {
    ("POST", "/api/v1/webhooks/gateway"): RouteDocs(
        "Take a notification of the payment gateway", message(), body={"type": "object"}
    ),
    ("GET", LIST): RouteDocs(
        "List the gateway's notifications, newest first",
        record(webhooks=array(_NOTIFICATION), total=WHOLE, page=WHOLE, per_page=WHOLE),
        query={**_PAGES, "processed": {"type": "string", "enum": ["true", "false", "1", "0", "t", "f"]}},
    ),
    ("POST", f"{LIST}/{{id}}/reprocess"): RouteDocs("Process a notification again", message()),
}
