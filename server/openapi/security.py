"""The security schemes of the OpenAPI documents, and the scopes and privileges that an operation requires."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import product
from typing import Any

from auth.access import Access
from auth.app_scopes import APP_SCOPES
from rest_facade.routing import Credential

_BEARER = {"type": "http", "scheme": "bearer"}
_SCOPE_VERBS = {"read": "Read", "write": "Read and change", "handle": "Be called by the store for its"}


def _describe_scope(scope: str) -> str:
    verb, _, records = scope.partition("_")
    return f"{_SCOPE_VERBS[verb]} {records.replace('_', ' ')}."


SCHEMES: Mapping[str, Mapping[str, Any]] = {
    "user": {
        **_BEARER,
        "description": "A user's access token (`POST /api/v1/auth/login`); the names are an administrator's privileges.",
    },
    "app": {
        "type": "oauth2",
        "description": "An app's access token (`vat_…`).",
        "flows": {
            "authorizationCode": {
                "authorizationUrl": "/api/v1/oauth/authorize",
                "tokenUrl": "/api/v1/oauth/token",
                "refreshUrl": "/api/v1/oauth/token",
                "scopes": {scope: _describe_scope(scope) for scope in sorted(APP_SCOPES)},
            }
        },
    },
    "storefront_key": {
        "type": "apiKey",
        "in": "header",
        "name": "X-API-Key",
        "description": "A storefront key (`sfk_…`); the names are its scopes.",
    },
    "gateway": {"type": "apiKey", "in": "header", "name": "X-Hub-Signature-256"},
    "basic": {"type": "http", "scheme": "basic", "description": "An administrator's e-mail and API key."},
    "legacy_token": {**_BEARER, "description": "A token of `POST /api/auth_tokens`, or a user's access token."},
}
_SCHEMES_OF: Mapping[Credential, tuple[str, ...]] = {
    Credential.SIGNATURE: ("gateway",),
    Credential.USER: ("user",),
    Credential.ADMIN: ("user", "app"),
    Credential.APP: ("app",),
    Credential.STOREFRONT_KEY: ("storefront_key",),
    Credential.LEGACY_ANY: ("basic", "legacy_token"),
    Credential.LEGACY_ADMIN: ("basic", "legacy_token"),
    Credential.VENDOR: ("basic", "legacy_token"),
}


def security_of(credential: Credential, access: Iterable[Access]) -> list[dict[str, list[str]]]:
    """Return the alternative requirements of a route, whose operations have these access rules."""
    rules = tuple(access)
    return [
        {scheme: sorted({name for name in names if name})}
        for scheme in _SCHEMES_OF.get(credential, ())
        if scheme != "app" or all(rule.app_scope or rule.any_app or rule.anonymous for rule in rules)
        for names in product(*(_names(scheme, rule) for rule in rules))
    ]


def _names(scheme: str, rule: Access) -> Iterator[str]:
    """Yield the scopes or privileges any one of which a rule requires; an empty one if it requires none."""
    required: tuple[str, ...] = ()
    if scheme == "app" and rule.app_scope:
        required = (rule.app_scope,) if isinstance(rule.app_scope, str) else rule.app_scope
    elif scheme == "storefront_key" and rule.storefront:
        required = (rule.storefront,)
    elif scheme == "user":
        required = rule.privileges
    yield from required or ("",)
