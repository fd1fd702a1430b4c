"""Show what a store can set as a list of records, and set one of them: the form in which the legacy layer and panels know settings.

What a setting is stands in `store_settings`; here each gets a number and a UUID of the store's own, a type, and its value as a text.
The key that signs the gateway's notifications is among them, masked: it is kept apart, encrypted (`stores.set_gateway_secret`).
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID, uuid5

from domain.fields import OneOf
from domain.store_settings import MASK, STORE_SETTINGS, StoreSetting, shown_setting
from domain.stores import gateway_secret, set_gateway_secret, update_settings
from kernel.errors import NotFound, ValidationFailed
from kernel.ids import Reference, parse_reference
from kernel.scope import Scope
from kernel.text import Malformed, shown

CHECKBOX, CHOICE, NUMBER, TEXT, SECRET = "C", "S", "U", "I", "P"
GATEWAY_SECRET = "payment_gateway_secret"

_YES_NO: Mapping[str, bool] = {"Y": True, "N": False, "1": True, "0": False, "TRUE": True, "FALSE": False}
_WHOLE = re.compile(r"-?[0-9]{1,18}")


@dataclass(frozen=True, slots=True)
class SettingRecord:
    """Show a setting. `type` is `C` yes or no, `S` one of `variants`, `U` a whole number, `I` a text, `P` a secret (masked)."""

    number: int
    id: UUID
    name: str
    section: str
    type: str
    value: str
    description: str
    variants: tuple[str, ...] = ()


async def settings_of(scope: Scope) -> list[SettingRecord]:
    """List the store's settings as they are, by section and name."""
    records = [_record(scope, name, known) for name, known in STORE_SETTINGS.items()]
    records.append(
        SettingRecord(
            number=_number(scope, GATEWAY_SECRET),
            id=uuid5(scope.store.public_id, GATEWAY_SECRET),
            name=GATEWAY_SECRET,
            section="payments",
            type=SECRET,
            value=MASK if await gateway_secret(scope) else "",
            description="The key with which the payment gateway signs its notifications; empty lets them in unsigned.",
        )
    )
    return sorted(records, key=lambda record: (record.section, record.name))


async def find_setting(scope: Scope, setting: object) -> SettingRecord | None:
    """Give the setting of that number, UUID or name; None when there is none."""
    name = _named(scope, setting)
    return next((record for record in await settings_of(scope) if record.name == name), None)


async def update_setting(scope: Scope, setting: object, value: str | None) -> int:
    """Set a setting from a text (null leaves it as it is) and give its number.

    Raises NotFound, and ValidationFailed for a value that it can't have. A secret's mask leaves the stored one as it is; the
    gateway's takes `manage_payments` too.
    """
    name = _named(scope, setting)
    if name is None:
        raise NotFound("setting")
    if value is not None:
        if name == GATEWAY_SECRET:
            scope.require("manage_payments")
            await set_gateway_secret(scope, value)
        else:
            await update_settings(scope, {name: _read(STORE_SETTINGS[name], value)})
    return _number(scope, name)


def _record(scope: Scope, name: str, known: StoreSetting) -> SettingRecord:
    type_ = _type(known)
    return SettingRecord(
        number=_number(scope, name),
        id=uuid5(scope.store.public_id, name),
        name=name,
        section=known.section,
        type=type_,
        value=_shown(shown_setting(scope, name)),
        description=known.description,
        variants=known.read.words if type_ == CHOICE and isinstance(known.read, OneOf) else (),
    )


def _type(known: StoreSetting) -> str:
    if known.secret:
        return SECRET
    if isinstance(known.read, OneOf):
        return CHECKBOX if set(known.read.words) == {"Y", "N"} else CHOICE
    if isinstance(known.default, bool):
        return CHECKBOX
    return NUMBER if isinstance(known.default, int) else TEXT


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return "Y" if value else "N"
    return str(value)


def _read(known: StoreSetting, value: str) -> object:
    """Read the text of a value, as `known.read` takes it and once by it, so that a wrong one is told as the field `value`."""
    given: object = value
    if known.secret and value == MASK:
        return given
    try:
        if _type(known) == CHECKBOX:
            yes = _YES_NO.get(value.strip().upper())
            if yes is None:
                raise Malformed(f"is {shown(value)}; expected Y or N")
            given = yes if isinstance(known.default, bool) else "NY"[yes]
        elif _type(known) == NUMBER:
            if not _WHOLE.fullmatch(value.strip()):
                raise Malformed(f"is {shown(value)}; expected a whole number")
            given = int(value)
        known.read(given)
    except Malformed as error:
        raise ValidationFailed(f"value {error}", field="value", code="setting_invalid") from error
    return given


def _named(scope: Scope, setting: object) -> str | None:
    names = (*STORE_SETTINGS, GATEWAY_SECRET)
    if isinstance(setting, str) and setting in names:
        return setting
    reference: Reference | None = parse_reference(setting)
    if isinstance(reference, UUID):
        return next((name for name in names if uuid5(scope.store.public_id, name) == reference), None)
    return next((name for name in names if _number(scope, name) == reference), None)


def _number(scope: Scope, name: str) -> int:
    """Give the number of a setting: settings are no rows, so it is made from the store's id and the name, and stays the same."""
    return zlib.crc32(f"{scope.store.public_id}:{name}".encode()) & 0x7FFFFFFF
