"""Settings of a store as a list of records, as the legacy API and admin panels use them.

`store_settings` declares the settings; here each gets an id and a UUID unique to the store, a type, and its value as text. The gateway's
signing key is included, masked; it is stored separately, encrypted (`stores.set_gateway_secret`).
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID, uuid5

from domain.store_settings import MASK, STORE_SETTINGS, StoreSetting, masked_setting
from domain.stores import gateway_secret, set_gateway_secret, update_settings
from kernel.errors import NotFound, ValidationFailed
from kernel.fields import OneOf
from kernel.ids import Reference, parse_reference
from kernel.scope import Scope
from kernel.text import InvalidValue, repr_value

CHECKBOX, CHOICE, NUMBER, TEXT, SECRET = "C", "S", "U", "I", "P"
GATEWAY_SECRET = "payment_gateway_secret"

_YES_NO: Mapping[str, bool] = {"Y": True, "N": False, "1": True, "0": False, "TRUE": True, "FALSE": False}
_WHOLE = re.compile(r"-?[0-9]{1,18}")


@dataclass(frozen=True, slots=True)
class SettingRecord:
    """A setting; `type` is `C` checkbox, `S` one of `variants`, `U` integer, `I` text, `P` secret (masked)."""

    number: int
    id: UUID
    name: str
    section: str
    type: str
    value: str
    description: str
    variants: tuple[str, ...] = ()


async def list_settings(scope: Scope) -> list[SettingRecord]:
    """Return the store's settings, sorted by section and name."""
    records = [_record(scope, name, declaration) for name, declaration in STORE_SETTINGS.items()]
    records.append(
        SettingRecord(
            number=_number(scope, GATEWAY_SECRET),
            id=uuid5(scope.store.public_id, GATEWAY_SECRET),
            name=GATEWAY_SECRET,
            section="payments",
            type=SECRET,
            value=MASK if await gateway_secret(scope) else "",
            description="The key with which the payment gateway signs its notifications; if empty, unsigned ones are accepted.",
        )
    )
    return sorted(records, key=lambda record: (record.section, record.name))


async def find_setting(scope: Scope, setting: object) -> SettingRecord | None:
    """Return the setting with that id, UUID or name; None if there is none."""
    name = _resolve_name(scope, setting)
    return next((record for record in await list_settings(scope) if record.name == name), None)


async def update_setting(scope: Scope, setting: object, value: str | None) -> int:
    """Set a setting from a text (null leaves it unchanged) and return its id.

    Raises NotFound, and ValidationFailed for an invalid value. The mask of a secret leaves the stored one unchanged; the gateway's secret
    also requires `manage_payments`.
    """
    name = _resolve_name(scope, setting)
    if name is None:
        raise NotFound("setting")
    if value is not None:
        if name == GATEWAY_SECRET:
            scope.check_privilege("manage_payments")
            await set_gateway_secret(scope, value)
        else:
            await update_settings(scope, {name: _read(STORE_SETTINGS[name], value)})
    return _number(scope, name)


def _record(scope: Scope, name: str, declaration: StoreSetting) -> SettingRecord:
    type_ = _type(declaration)
    return SettingRecord(
        number=_number(scope, name),
        id=uuid5(scope.store.public_id, name),
        name=name,
        section=declaration.section,
        type=type_,
        value=_format(masked_setting(scope, name)),
        description=declaration.description,
        variants=declaration.read.words if type_ == CHOICE and isinstance(declaration.read, OneOf) else (),
    )


def _type(declaration: StoreSetting) -> str:
    if declaration.secret:
        return SECRET
    if isinstance(declaration.read, OneOf):
        return CHECKBOX if set(declaration.read.words) == {"Y", "N"} else CHOICE
    if isinstance(declaration.default, bool):
        return CHECKBOX
    return NUMBER if isinstance(declaration.default, int) else TEXT


def _format(value: object) -> str:
    if isinstance(value, bool):
        return "Y" if value else "N"
    return str(value)


def _read(declaration: StoreSetting, value: str) -> object:
    """Parse the text of a value and validate it with its reader, so that errors name the field `value`."""
    parsed: object = value
    if declaration.secret and value == MASK:
        return parsed
    try:
        if _type(declaration) == CHECKBOX:
            is_yes = _YES_NO.get(value.strip().upper())
            if is_yes is None:
                raise InvalidValue(f"is {repr_value(value)}; expected Y or N")
            parsed = is_yes if isinstance(declaration.default, bool) else "NY"[is_yes]
        elif _type(declaration) == NUMBER:
            if not _WHOLE.fullmatch(value.strip()):
                raise InvalidValue(f"is {repr_value(value)}; expected a whole number")
            parsed = int(value)
        declaration.read(parsed)
    except InvalidValue as error:
        raise ValidationFailed(f"value {error}", field="value", code="setting_invalid") from error
    return parsed


def _resolve_name(scope: Scope, setting: object) -> str | None:
    names = (*STORE_SETTINGS, GATEWAY_SECRET)
    if isinstance(setting, str) and setting in names:
        return setting
    reference: Reference | None = parse_reference(setting)
    if isinstance(reference, UUID):
        return next((name for name in names if uuid5(scope.store.public_id, name) == reference), None)
    return next((name for name in names if _number(scope, name) == reference), None)


def _number(scope: Scope, name: str) -> int:
    """Return a stable id derived from the store's id and the name, because settings have no rows."""
    return zlib.crc32(f"{scope.store.public_id}:{name}".encode()) & 0x7FFFFFFF
