"""Create, update and delete payment methods. Their processor parameters are encrypted as a whole; secrets are shown masked (`****`)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import orjson

from auth.secrets import decrypt, encrypt
from domain.taxes.taxes import set_taxes
from kernel.codes import PAYMENT_STATUSES
from kernel.errors import ValidationFailed
from kernel.fields import InputField, InputValues, cents, code_in, flag, integer, name_text, read_fields, text
from kernel.scope import Scope, active_scope
from kernel.text import InvalidValue, repr_value
from models import audit
from models.database import fetchval, transaction
from models.payments import PaymentMethod
from models.references import PAYMENT_METHOD, VENDOR, find, resolve_optional

MASK = "****"
PURPOSE = "processor_params"
MAX_PARAMS_BYTES = 100_000
_MAX_HOLD_MINUTES = 525_600  # a year
_MAX_PERCENT = 100_000  # hundredths of a percent

# In all known gateways, credentials have one of these words in their parameter name.
_SECRET_NAME = re.compile(
    r"secret|token|key|pass|pwd|senha|private|salt|hash|cert|credential|auth|signature|pin$", re.IGNORECASE
)
_PROCESSOR = re.compile(r"\S(?:.{0,62}\S)?")


def processor_name(value: object) -> object:
    """Parse the name of a processor, at most 64 characters (docs/reference/legacy.md#payments)."""
    name = str(text(64)(value)).strip()
    if not _PROCESSOR.fullmatch(name):
        raise InvalidValue(f"is {repr_value(value)}; expected a word of at most 64 characters")
    return name


PAYMENT_METHOD_FIELDS: Mapping[str, InputField] = {
    "name": InputField("name", name_text, code="name_invalid", required="name_required"),
    "description": InputField("description", text()),
    "instructions": InputField("instructions", text()),
    "processor": InputField("processor", processor_name, code="processor_invalid"),
    "surcharge_cents": InputField("surcharge_cents", cents(), code="surcharge_invalid"),
    "surcharge_percent": InputField("surcharge_percent", integer(0, _MAX_PERCENT), code="surcharge_invalid"),
    "settles_at_once": InputField("settles_at_once", flag),
    "hold_minutes": InputField("hold_minutes", integer(0, _MAX_HOLD_MINUTES), code="hold_invalid"),
    "position": InputField("position", integer(), code="position_invalid"),
    "status": InputField("status", code_in(PAYMENT_STATUSES), code="status_invalid"),
}

_PARAMS = "SELECT processor_params FROM payment_methods WHERE tenant_id = $1 AND id = $2 FOR NO KEY UPDATE"


async def create_payment_method(scope: Scope, values: InputValues) -> int:
    """Create a payment method and return its internal id.

    Keys: `name`*, `description`, `instructions`, `processor`, `processor_params` (an object), `surcharge_cents`,
    `surcharge_percent` (hundredths of a percent), `settles_at_once`, `hold_minutes` (0: never expires), `position`, `status`, `vendor`,
    `taxes` (references).
    """
    columns = read_fields(PAYMENT_METHOD_FIELDS, values, creating=True)
    async with transaction(scope):
        columns |= await _vendor(scope, values)
        if values.get("processor_params") is not None:
            columns["processor_params"] = encrypt_params(restore_masked(values["processor_params"], {}))
        method = PaymentMethod(**columns, created_at=scope.now, updated_at=scope.now)
        await method.save()
        method_id: int = method.id
        await _set_taxes(scope, method_id, values)
        await audit.record(scope, "payment_method.created", "payment_method", method.public_id)
    return method_id


async def update_payment_method(scope: Scope, method: object, values: InputValues) -> int:
    """Update a payment method partially and return its internal id.

    `processor_params` replace the existing ones, except that a value equal to the mask keeps the stored one.
    """
    columns = read_fields(PAYMENT_METHOD_FIELDS, values)
    async with transaction(scope):
        method_id = await find(scope, PAYMENT_METHOD, method)
        columns |= await _vendor(scope, values)
        if "processor_params" in values:
            stored = decrypt_params(await fetchval(_PARAMS, scope.store.id, method_id))
            columns["processor_params"] = encrypt_params(
                restore_masked(values["processor_params"] or {}, stored)
            )
        await PaymentMethod.filter(id=method_id).update(**columns, updated_at=scope.now)
        await _set_taxes(scope, method_id, values)
        # Only field names: values may be secret.
        await audit.record(
            scope, "payment_method.updated", "payment_method", method_id, {"fields": sorted(map(str, values))}
        )
    return method_id


async def delete_payment_method(scope: Scope, method: object) -> None:
    """Soft-delete a payment method; its orders go on showing it."""
    async with transaction(scope):
        method_id = await find(scope, PAYMENT_METHOD, method)
        await PaymentMethod.filter(id=method_id).update(deleted_at=scope.now, updated_at=scope.now)
        await audit.record(scope, "payment_method.deleted", "payment_method", method_id)


async def load_masked_params(scope: Scope, method_id: int) -> dict[str, Any]:
    """Return the parameters of a method with secrets masked."""
    with active_scope(scope):
        stored = await fetchval(
            "SELECT processor_params FROM payment_methods WHERE tenant_id = $1 AND id = $2",
            scope.store.id,
            method_id,
        )
    return mask_params(decrypt_params(stored))


def decrypt_params(stored: bytes | None) -> dict[str, Any]:
    """Decrypt parameters; none yield an empty object."""
    params: dict[str, Any] = orjson.loads(decrypt(PURPOSE, stored)) if stored else {}
    return params


def encrypt_params(params: Mapping[str, Any]) -> bytes:
    """Encrypt parameters as a whole."""
    return encrypt(PURPOSE, orjson.dumps(params))


def mask_params(params: Mapping[str, Any]) -> dict[str, Any]:
    """Replace every non-empty secret by the mask, also in nested objects."""
    return {name: _mask(name, param) for name, param in params.items()}


def restore_masked(values: object, stored: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters to store: a masked value becomes the stored one. Raises ValidationFailed unless it is an object."""
    if not isinstance(values, Mapping) or len(orjson.dumps(values)) > MAX_PARAMS_BYTES:
        raise ValidationFailed(
            f"processor_params is {repr_value(values)}; expected an object of at most {MAX_PARAMS_BYTES} bytes",
            field="processor_params",
            code="processor_params_invalid",
        )
    return {
        name: _restore(param, stored.get(name))
        for name, param in values.items()
        # A mask without a stored value is dropped.
        if param != MASK or name in stored
    }


def _mask(name: str, param: object) -> object:
    if isinstance(param, Mapping):
        return mask_params(param)
    return MASK if param not in ("", None) and _SECRET_NAME.search(name) else param


def _restore(param: object, stored: object) -> object:
    if isinstance(param, Mapping):
        return restore_masked(param, stored if isinstance(stored, Mapping) else {})
    return stored if param == MASK else param


async def _set_taxes(scope: Scope, method_id: int, values: InputValues) -> None:
    if values.get("taxes") is not None:
        await set_taxes(scope, "payment_method_taxes", method_id, values["taxes"])


async def _vendor(scope: Scope, values: InputValues) -> dict[str, Any]:
    if "vendor" not in values:
        return {}
    return {"vendor_id": await resolve_optional(scope, VENDOR, values["vendor"], field="vendor")}
