"""Tokens that are their data, encrypted under the deployment's key: nothing is stored until their owner sends them back."""

from __future__ import annotations

import binascii
import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from auth.secrets import DecryptionError, decrypt, encrypt
from kernel.errors import ValidationFailed
from kernel.scope import Scope

LIFETIME = timedelta(hours=48)
_MAX_LENGTH = 2_000


def write(scope: Scope, purpose: str, data: Mapping[str, Any], lifetime: timedelta | None = None) -> str:
    """Return a token of the store with these data, valid for its lifetime (None: for ever) and only for this purpose."""
    expires = None if lifetime is None else int((scope.now + lifetime).timestamp())
    sealed = encrypt(purpose, json.dumps({**data, "store": scope.store.id, "expires": expires}).encode())
    return urlsafe_b64encode(sealed).decode()


def read(scope: Scope, purpose: str, token: str) -> dict[str, Any]:
    """Return the data of a token of the store, here or where it came from, and `expires`; raises ValidationFailed (`token_invalid`)."""
    if len(token) > _MAX_LENGTH or not token.isascii():
        raise _invalid()
    try:
        data: dict[str, Any] = json.loads(decrypt(purpose, urlsafe_b64decode(token)))
    except (DecryptionError, binascii.Error) as error:
        raise _invalid() from error
    if data.pop("store") not in (scope.store.id, *scope.store.former_ids):
        raise _invalid()
    return data


def check_time(scope: Scope, data: Mapping[str, Any]) -> None:
    """Raise ValidationFailed (`token_invalid`) for the data of a token that has expired."""
    if data["expires"] is not None and data["expires"] < scope.now.timestamp():
        raise _invalid()


def _invalid() -> ValidationFailed:
    return ValidationFailed("token is invalid or has expired", field="token", code="token_invalid")
