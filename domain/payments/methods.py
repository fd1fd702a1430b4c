"""Make, change and delete ways to pay. Their processor's parameters are encrypted as a whole; secrets among them are shown as `****`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import orjson

from auth.secrets import decrypt, encrypt
from domain import audit
from domain.fields import Given, InputField, cents, code_in, flag, name_text, read_fields, text, whole
from domain.references import PAYMENT_METHOD, VENDOR, find, resolve_optional
from domain.taxes.taxes import lay_taxes
from kernel.codes import PAYMENT_STATUSES
from kernel.errors import ValidationFailed
from kernel.scope import Scope, entered
from kernel.text import Malformed, shown
from models.database import transaction, value
from models.payments import PaymentMethod

MASK = "****"
PURPOSE = "processor_params"
MAX_PARAMS_BYTES = 100_000
_MAX_HOLD_MINUTES = 525_600  # a year
_MAX_PERCENT = 100_000  # hundredths of a percent

# Contract of every gateway at hand: what lets somebody act for the shop has one of these words in its name.
_SECRET_NAME = re.compile(
    r"secret|token|key|pass|pwd|senha|private|salt|hash|cert|credential|auth|signature|pin$", re.IGNORECASE
)
_PROCESSOR = re.compile(r"\S(?:.{0,62}\S)?")


def processor_word(value: object) -> object:
    """Read the name of a processor: any word of at most 64 characters (decisions-legacy section 3)."""
    word = str(text(64)(value)).strip()
    if not _PROCESSOR.fullmatch(word):
        raise Malformed(f"is {shown(value)}; expected a word of at most 64 characters")
    return word


PAYMENT_METHOD_FIELDS: Mapping[str, InputField] = {
    "name": InputField("name", name_text, code="name_invalid", required="name_required"),
    "description": InputField("description", text()),
    "instructions": InputField("instructions", text()),
    "processor": InputField("processor", processor_word, code="processor_invalid"),
    "surcharge_cents": InputField("surcharge_cents", cents(), code="surcharge_invalid"),
    "surcharge_percent": InputField("surcharge_percent", whole(0, _MAX_PERCENT), code="surcharge_invalid"),
    "settles_at_once": InputField("settles_at_once", flag),
    "hold_minutes": InputField("hold_minutes", whole(0, _MAX_HOLD_MINUTES), code="hold_invalid"),
    "position": InputField("position", whole(), code="position_invalid"),
    "status": InputField("status", code_in(PAYMENT_STATUSES), code="status_invalid"),
}

_PARAMS = "SELECT processor_params FROM payment_methods WHERE tenant_id = $1 AND id = $2 FOR NO KEY UPDATE"


async def create_payment_method(scope: Scope, given: Given) -> int:
    """Make a way to pay and give its internal id.

    Keys: `name`*, `description`, `instructions`, `processor`, `processor_params` (an object), `surcharge_cents`,
    `surcharge_percent` (hundredths of a percent), `settles_at_once`, `hold_minutes` (0: for ever), `position`, `status`, `vendor`,
    `taxes` (references).
    """
    columns = read_fields(PAYMENT_METHOD_FIELDS, given, creating=True)
    async with transaction(scope):
        columns |= await _vendor(scope, given)
        if given.get("processor_params") is not None:
            columns["processor_params"] = sealed(without_masks(given["processor_params"], {}))
        method = PaymentMethod(**columns, created_at=scope.now, updated_at=scope.now)
        await method.save()
        method_id: int = method.id
        await _lay_taxes(scope, method_id, given)
        await audit.record(scope, "payment_method.created", "payment_method", method.public_id)
    return method_id


async def update_payment_method(scope: Scope, method: object, given: Given) -> int:
    """Change a way to pay partially and give its internal id.

    `processor_params` replace those there are, except that a value sent back as the mask leaves the stored one as it is.
    """
    columns = read_fields(PAYMENT_METHOD_FIELDS, given)
    async with transaction(scope):
        method_id = await find(scope, PAYMENT_METHOD, method)
        columns |= await _vendor(scope, given)
        if "processor_params" in given:
            stored = opened(await value(_PARAMS, scope.store.id, method_id))
            columns["processor_params"] = sealed(without_masks(given["processor_params"] or {}, stored))
        await PaymentMethod.filter(id=method_id).update(**columns, updated_at=scope.now)
        await _lay_taxes(scope, method_id, given)
        # Which fields, never their values: among them are secrets.
        await audit.record(
            scope, "payment_method.updated", "payment_method", method_id, {"fields": sorted(map(str, given))}
        )
    return method_id


async def delete_payment_method(scope: Scope, method: object) -> None:
    """Hide a way to pay; the orders it paid go on showing it."""
    async with transaction(scope):
        method_id = await find(scope, PAYMENT_METHOD, method)
        await PaymentMethod.filter(id=method_id).update(deleted_at=scope.now, updated_at=scope.now)
        await audit.record(scope, "payment_method.deleted", "payment_method", method_id)


async def shown_params(scope: Scope, method_id: int) -> dict[str, Any]:
    """Give the parameters of a method as people may see them: secrets masked."""
    with entered(scope):
        stored = await value(
            "SELECT processor_params FROM payment_methods WHERE tenant_id = $1 AND id = $2",
            scope.store.id,
            method_id,
        )
    return masked(opened(stored))


def opened(stored: bytes | None) -> dict[str, Any]:
    """Decrypt parameters; none are an empty object."""
    params: dict[str, Any] = orjson.loads(decrypt(PURPOSE, stored)) if stored else {}
    return params


def sealed(params: Mapping[str, Any]) -> bytes:
    """Encrypt parameters as a whole."""
    return encrypt(PURPOSE, orjson.dumps(params))


def masked(params: Mapping[str, Any]) -> dict[str, Any]:
    """Put the mask in place of every secret that has a value, also in objects within."""
    return {name: _masked(name, param) for name, param in params.items()}


def without_masks(given: object, stored: Mapping[str, Any]) -> dict[str, Any]:
    """Give the parameters to store: a value that equals the mask is the stored one. Raises ValidationFailed for no object."""
    if not isinstance(given, Mapping) or len(orjson.dumps(given)) > MAX_PARAMS_BYTES:
        raise ValidationFailed(
            f"processor_params is {shown(given)}; expected an object of at most {MAX_PARAMS_BYTES} bytes",
            field="processor_params",
            code="processor_params_invalid",
        )
    return {
        name: _without_mask(param, stored.get(name))
        for name, param in given.items()
        # A mask for what was never stored hides nothing.
        if param != MASK or name in stored
    }


def _masked(name: str, param: object) -> object:
    if isinstance(param, Mapping):
        return masked(param)
    return MASK if param not in ("", None) and _SECRET_NAME.search(name) else param


def _without_mask(param: object, stored: object) -> object:
    if isinstance(param, Mapping):
        return without_masks(param, stored if isinstance(stored, Mapping) else {})
    return stored if param == MASK else param


async def _lay_taxes(scope: Scope, method_id: int, given: Given) -> None:
    if given.get("taxes") is not None:
        await lay_taxes(scope, "payment_method_taxes", method_id, given["taxes"])


async def _vendor(scope: Scope, given: Given) -> dict[str, Any]:
    if "vendor" not in given:
        return {}
    return {"vendor_id": await resolve_optional(scope, VENDOR, given["vendor"], field="vendor")}
