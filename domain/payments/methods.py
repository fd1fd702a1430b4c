"""Payment methods. Their processor parameters are encrypted as a whole; secrets are shown masked (`****`)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from itertools import zip_longest
from typing import Any

import orjson

from auth import secrets
from domain.records import Change, RecordType
from domain.store_settings import MASK as MASK
from domain.taxes.taxes import taxes_writer
from kernel.codes import PAYMENT_STATUSES
from kernel.errors import ValidationFailed
from kernel.fields import InputField, cents, code_in, flag, integer, name_text, text
from kernel.payment_words import PaymentKind
from kernel.text import InvalidValue, repr_value
from models.connection.database import fetchval
from models.references import VENDOR
from models.tables.payments import PaymentMethod

PURPOSE = "processor_params"
encrypt_params = partial(secrets.encrypt_params, PURPOSE)
decrypt_params = partial(secrets.decrypt_params, PURPOSE)
MAX_PARAMS_BYTES = 100_000
_MAX_HOLD_MINUTES = 525_600  # a year
_MAX_PERCENT = 100_000  # hundredths of a percent

# In all known gateways, credentials have one of these words in their parameter name.
_SECRET_NAME = re.compile(
    r"secret|token|key|pass|pwd|senha|private|salt|hash|cert|credential|auth|signature|pin$", re.IGNORECASE
)
_GATEWAY_KINDS = (PaymentKind.PIX, PaymentKind.BOLETO, PaymentKind.CARD)
_PROCESSOR = re.compile(r"\S(?:.{0,62}\S)?")


def processor_name(value: object) -> object:
    """Parse the name of a processor, at most 64 characters (docs/reference/legacy.md#payments)."""
    name = str(text(64)(value)).strip()
    if not _PROCESSOR.fullmatch(name):
        raise InvalidValue(f"is {repr_value(value)}; expected a word of at most 64 characters")
    return name


def method_kind(value: object) -> str:
    """Read the kind of payment that a method's gateway takes; blank for a method without one."""
    kind = str(text(20)(value)).strip()
    if kind and kind not in _GATEWAY_KINDS:
        raise InvalidValue(f"is {repr_value(value)}; expected one of {', '.join(_GATEWAY_KINDS)}")
    return kind


PAYMENT_METHOD_FIELDS: Mapping[str, InputField] = {
    "name": InputField("name", name_text, code="name_invalid", required="name_required"),
    "description": InputField("description", text()),
    "instructions": InputField("instructions", text()),
    "processor": InputField("processor", processor_name, code="processor_invalid"),
    "kind": InputField("kind", method_kind, code="kind_invalid"),
    "surcharge_cents": InputField("surcharge_cents", cents(), code="surcharge_invalid"),
    "surcharge_percent": InputField("surcharge_percent", integer(0, _MAX_PERCENT), code="surcharge_invalid"),
    "settles_at_once": InputField("settles_at_once", flag),
    "hold_minutes": InputField("hold_minutes", integer(0, _MAX_HOLD_MINUTES), code="hold_invalid"),
    "position": InputField("position", integer(), code="position_invalid"),
    "status": InputField("status", code_in(PAYMENT_STATUSES), code="status_invalid"),
}

_PARAMS = "SELECT processor_params FROM payment_methods WHERE tenant_id = $1 AND id = $2 FOR NO KEY UPDATE"


async def _encrypt(change: Change) -> None:
    """Encrypt the input's `processor_params`, which replace the existing ones; a value equal to the mask keeps the stored one."""
    params = change.values.get("processor_params")
    if change.is_new and params is not None:
        change.columns["processor_params"] = encrypt_params(restore_masked(params, {}))
    elif not change.is_new and "processor_params" in change.values:
        stored = decrypt_params(await fetchval(_PARAMS, change.scope.store.id, change.record_id))
        restored = restore_masked(params or {}, stored)
        if restored != stored:  # encrypted again, it would be another value
            change.columns["processor_params"] = encrypt_params(restored)


# The audit log has the names of the fields only: values may be secret.
PAYMENT_METHOD_RECORDS = RecordType(
    PaymentMethod,
    PAYMENT_METHOD_FIELDS,
    references={"vendor": VENDOR},
    audit_input=True,
    prepare=_encrypt,
    after_save=taxes_writer("payment_method_taxes"),
)
"""`surcharge_percent` is in hundredths of a percent; `hold_minutes` 0 means that orders never expire."""


def mask_params(params: Mapping[str, Any]) -> dict[str, Any]:
    """Replace every non-empty secret by the mask, also in nested objects and lists."""
    return {name: _mask(name, param) for name, param in params.items()}


def restore_masked(values: object, stored: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters to store: a masked value becomes the stored one, in a list that of the same place.

    Raises ValidationFailed unless it is an object.
    """
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
    if param not in ("", None) and _SECRET_NAME.search(name):
        return MASK
    return [_mask(name, each) for each in param] if isinstance(param, list) else param


def _restore(param: object, stored: object) -> object:
    if isinstance(param, Mapping):
        return restore_masked(param, stored if isinstance(stored, Mapping) else {})
    if isinstance(param, list):
        known = stored if isinstance(stored, list) else ()
        return [_restore(each, before) for each, before in zip_longest(param, known[: len(param)])]
    return stored if param == MASK else param
