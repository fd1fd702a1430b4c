"""Document the routes of the current API."""

from __future__ import annotations

from rest_facade.collection_openapi import STATUS_BODY, collection_docs, input_of, list_query
from rest_facade.collections import COLLECTIONS
from rest_facade.current import browser_session, consent, payments_openapi, storefront_openapi
from rest_facade.current.admin import PREFIX
from rest_facade.current.credentials import INSTALLED_APPS, STOREFRONT_KEYS
from rest_facade.current.gateway import LIST
from rest_facade.current.ledger import ledger_docs
from rest_facade.list_parameters import DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE
from rest_facade.media import media_docs
from rest_facade.openapi import (
    BOOLEAN,
    DATE_TIME,
    FREE_OBJECT,
    INTEGER,
    PAGE,
    STRING,
    OperationResult,
    RouteDocs,
    RouteKey,
    array,
    described,
    enum,
    message_schema,
    named,
    object_schema,
    one_of,
    page_size_schema,
    request_body,
)
from rest_facade.webhooks_openapi import webhook_endpoint_docs

_AUTH = "/api/v1/auth"
_TOKEN_PAIR = named("TokenPair", object_schema(access_token=STRING, refresh_token=STRING, expires_at=DATE_TIME))
_CHALLENGE = named("TwoFactorChallenge", object_schema(requires_2fa=BOOLEAN, temp_token=STRING))
_APP_TOKENS = named(
    "AppTokens",
    object_schema(
        access_token=STRING,
        refresh_token=STRING,
        token_type=STRING,
        expires_in=described(INTEGER, "Seconds."),
        scopes=array(STRING),
        scope=STRING,
    ),
)
_NOTIFICATION = named("GatewayNotification", object_schema(
    "id", "event_id", "event_type", "processed", "error_message", "created_at",
    id=INTEGER, event_id=STRING, event_type=STRING, charge_id=STRING, processed=BOOLEAN, error_message=STRING, created_at=DATE_TIME,
))  # fmt: skip
_CHARGE_PAID = {
    "id": "hook_8RkqY0TbZ",
    "type": "charge.paid",
    "data": {
        "id": "ch_zK2mWqJ",
        "amount": 7980,
        "paid_amount": 7980,
        "metadata": {"order_id": "0198f0de-0000-7000-8000-00000000cafe"},
    },
}
_PAGINATION = {"page": PAGE, "per_page": page_size_schema(DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE)}


def route_docs() -> dict[RouteKey, RouteDocs]:
    """Return the documentation of every route that its handler's docstring doesn't describe fully."""
    docs: dict[RouteKey, RouteDocs] = {}
    for collection in COLLECTIONS:
        docs.update(collection_docs(collection, "Admin", PREFIX))
    docs.update(ledger_docs())
    docs.update(media_docs(PREFIX, "Admin"))
    docs.update(webhook_endpoint_docs(f"{PREFIX}/event-endpoints", "Admin", "per_page", "installed_app_id"))
    docs.update(storefront_openapi.route_docs())
    docs.update(payments_openapi.route_docs())
    return {**docs, **_SIGN_IN, **_OAUTH, **_ADMIN, **_GATEWAY}


_SIGN_IN: dict[RouteKey, RouteDocs] = {
    ("POST", f"{_AUTH}/login"): RouteDocs(
        "Sign in",
        one_of(_TOKEN_PAIR, _CHALLENGE),
        body=request_body("password", email=STRING, identifier=STRING, password=STRING),
    ),
    ("POST", f"{_AUTH}/key"): RouteDocs(
        "Sign in with a single-use key", one_of(_TOKEN_PAIR, _CHALLENGE), body=request_body("key", key=STRING)
    ),
    ("GET", f"{_AUTH}/key"): RouteDocs(
        "Sign in by the link of a single-use key", one_of(_TOKEN_PAIR, _CHALLENGE), query={"key": STRING}
    ),
    ("POST", f"{_AUTH}/verify-2fa"): RouteDocs(
        "Complete a two-factor challenge", _TOKEN_PAIR, body=request_body("temp_token", "code", temp_token=STRING, code=STRING)
    ),
    ("POST", f"{_AUTH}/refresh"): RouteDocs(
        "Exchange a refresh token for a new token pair",
        _TOKEN_PAIR,
        body=request_body("refresh_token", refresh_token=STRING),
    ),
    ("POST", f"{_AUTH}/logout"): RouteDocs(
        "Revoke the session of a refresh token", message_schema(), body=request_body("refresh_token", refresh_token=STRING)
    ),
    ("POST", browser_session.PATH): RouteDocs(
        "Exchange the refresh token of the body, else of the browser's cookie, for an access token and a new cookie",
        object_schema(
            access_token={"type": ["string", "null"]}, expires_at={"type": ["string", "null"], "format": "date-time"}
        ),
        body=request_body(refresh_token=STRING),
    ),
    ("DELETE", browser_session.PATH): RouteDocs(
        "End the session of the browser's cookie", message_schema()
    ),
    ("POST", f"{_AUTH}/logout-all"): RouteDocs("Revoke all sessions", message_schema()),
    ("GET", f"{_AUTH}/sessions"): RouteDocs(
        "List sessions", object_schema(sessions=OperationResult("Sessions"), total=INTEGER)
    ),
    ("DELETE", f"{_AUTH}/sessions/{{id}}"): RouteDocs("Revoke a session", message_schema()),
    ("GET", f"{_AUTH}/me"): RouteDocs(
        "Retrieve the signed-in account",
        OperationResult("Me", name="Account", overrides={"privileges": array(STRING)}),
    ),
    ("POST", f"{_AUTH}/register"): RouteDocs(
        "Register a customer account",
        message_schema(),
        status=201,
        body=request_body(
            "email", "password", "name",
            email=STRING, password=STRING, name=STRING, cpf=STRING, cnpj=STRING, phone=STRING,
        ),
    ),
    ("POST", f"{_AUTH}/email/verify"): RouteDocs(
        "Confirm an e-mail address", message_schema(), body=request_body("token", token=STRING)
    ),
    ("POST", f"{_AUTH}/email/resend"): RouteDocs(
        "Resend the confirmation e-mail", message_schema(), body=request_body("email", email=STRING)
    ),
    ("POST", f"{_AUTH}/password/forgot"): RouteDocs(
        "Send a password reset e-mail", message_schema(), body=request_body("email", email=STRING)
    ),
    ("POST", f"{_AUTH}/password/reset"): RouteDocs(
        "Reset a password", message_schema(), body=request_body("token", "password", token=STRING, password=STRING)
    ),
}  # fmt: skip

_CLIENT = {"client_id": STRING, "client_secret": STRING}
_OAUTH: dict[RouteKey, RouteDocs] = {
    ("POST", "/api/v1/oauth/token"): RouteDocs(
        "Exchange an authorization code or a refresh token for app tokens",
        _APP_TOKENS,
        body=named(
            "AppTokenRequest",
            request_body(
                "grant_type",
                grant_type=enum(("authorization_code", "refresh_token")),
                **_CLIENT,
                code=STRING,
                redirect_uri=STRING,
                code_verifier=STRING,
                refresh_token=STRING,
                scope=STRING,
            ),
        ),
        forms=True,
    ),
    ("GET", consent.PATH): RouteDocs(
        "Show the consent page of an app's authorization request",
        STRING,
        query=dict.fromkeys(consent.PARAMETERS, STRING),
        required_query=("client_id", "redirect_uri", "response_type"),
        other_responses={400: STRING},
        media="text/html",
    ),
    ("POST", "/api/v1/oauth/revoke"): RouteDocs(
        "Revoke an app token",
        object_schema(),
        body=named("AppTokenRevocation", request_body("token", **_CLIENT, token=STRING)),
        forms=True,
    ),
}

_NEW_KEY = OperationResult("AdminStorefrontKeyCreate", member="storefront_key", name="StorefrontKey")
_ADMIN: dict[RouteKey, RouteDocs] = {
    ("PUT", f"{PREFIX}/orders/{{id}}/status"): RouteDocs(
        "Update an order's status", OperationResult("AdminOrderSetStatus"), body=STATUS_BODY
    ),
    ("GET", f"{PREFIX}/installed-apps"): RouteDocs(
        "List installed apps",
        OperationResult("AdminInstalledApps"),
        query=list_query(INSTALLED_APPS.list_definition),
    ),
    ("GET", f"{PREFIX}/installed-apps/{{id}}"): RouteDocs(
        "Retrieve an installed app", OperationResult("AdminInstalledApp")
    ),
    **{
        (method, f"{PREFIX}/installed-apps/{{id}}"): RouteDocs(
            "Update an installed app's rate limit or remove scopes",
            OperationResult("AdminInstalledAppUpdate"),
            body=input_of("AdminInstalledAppUpdate", "InstalledAppChanges", ("rate_limit", "scopes")),
        )
        for method in ("PUT", "PATCH")
    },
    ("DELETE", f"{PREFIX}/installed-apps/{{id}}"): RouteDocs(
        "Uninstall an app", status=204, operation="AdminInstalledAppDelete"
    ),
    ("GET", f"{PREFIX}/storefront-keys"): RouteDocs(
        "List storefront keys",
        OperationResult("AdminStorefrontKeys"),
        query=list_query(STOREFRONT_KEYS.list_definition),
    ),
    ("POST", f"{PREFIX}/storefront-keys"): RouteDocs(
        "Create a storefront key; only this response contains it",
        {"allOf": [object_schema(key=STRING), _NEW_KEY]},
        status=201,
        body=input_of(
            "AdminStorefrontKeyCreate",
            "NewStorefrontKey",
            ("name", "scopes", "rate_limit", "per_address", "server_side"),
        ),
    ),
    ("GET", f"{PREFIX}/storefront-keys/{{id}}"): RouteDocs(
        "Retrieve a storefront key", OperationResult("AdminStorefrontKey")
    ),
    ("DELETE", f"{PREFIX}/storefront-keys/{{id}}"): RouteDocs(
        "Revoke a storefront key", status=204, operation="AdminStorefrontKeyDelete"
    ),
}

_GATEWAY: dict[RouteKey, RouteDocs] = {
    ("POST", "/api/v1/webhooks/gateway"): RouteDocs(
        "Receive a payment gateway notification", message_schema(), body={**FREE_OBJECT, "examples": [_CHARGE_PAID]}
    ),
    ("GET", LIST): RouteDocs(
        "List gateway notifications, newest first",
        object_schema(webhooks=array(_NOTIFICATION), total=INTEGER, page=INTEGER, per_page=INTEGER),
        operation="AdminGatewayNotifications",
        query={**_PAGINATION, "processed": {"type": "string", "enum": ["true", "false", "1", "0", "t", "f"]}},
    ),
    ("POST", f"{LIST}/{{id}}/reprocess"): RouteDocs(
        "Reprocess a gateway notification", message_schema(), operation="AdminGatewayNotificationReprocess"
    ),
}
