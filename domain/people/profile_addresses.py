"""The addresses of a profile, one for billing and one for shipping, as CS-Cart has them: a user's default addresses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from domain.addresses import country_or_brazil
from domain.people.addresses import BILLING, DEFAULT_COLUMNS, SHIPPING
from domain.purchase.draft import ADDRESS_FIELDS, check_addresses
from domain.purchase.saved_addresses import MEMBERS
from kernel.fields import InputField, InputValues, read_fields
from kernel.geography import BRAZIL
from kernel.scope import Scope
from models.connection.database import fetch
from models.rows import insert_row, update_row

PROFILE_ADDRESSES: Mapping[str, str] = {"default_billing_address": BILLING, "default_shipping_address": SHIPPING}
"""The input fields of a user's default addresses, and their types."""

_FIELDS: Mapping[str, InputField] = {
    **ADDRESS_FIELDS,
    "country": InputField("country", country_or_brazil, code="country_invalid"),
}
_MEMBERS = tuple(name for name in _FIELDS if name not in ("firstname", "lastname"))
_CURRENT = f"""
SELECT t.id, t.is_default_billing, t.is_default_shipping,
    {", ".join(f"{sql} AS {name}" for name, sql in MEMBERS.items())}
FROM user_addresses t
WHERE t.tenant_id = $1 AND t.user_id = $2 AND (t.is_default_billing OR t.is_default_shipping)
"""
_BLANK = {**dict.fromkeys(_FIELDS, ""), "country": BRAZIL}


def read_profile_addresses(values: InputValues) -> dict[str, dict[str, str]]:
    """Return the members of the addresses that an input names, by type; raises ValidationFailed."""
    addresses = {
        type_: read_fields(_FIELDS, values[name]) for name, type_ in PROFILE_ADDRESSES.items() if values.get(name)
    }
    check_addresses(addresses)
    return addresses


async def write_profile_addresses(scope: Scope, user_id: int, addresses: Mapping[str, Mapping[str, str]]) -> list[str]:
    """Set members of a user's default addresses, by type, and return the types that changed; the user's row is locked.

    An address that is the default of both types is divided when one of them changes. Other saved addresses stay.
    """
    changed = []
    for type_, members in addresses.items():
        rows = await fetch(_CURRENT, scope.store.id, user_id)
        column = DEFAULT_COLUMNS[type_]
        current: Mapping[str, Any] = next((row for row in rows if row[column]), _BLANK)
        address = {**{name: current[name] for name in _FIELDS}, **members}
        if all(address[name] == current[name] for name in _FIELDS):
            continue
        changed.append(type_)
        columns: dict[str, Any] = {**_columns_of(address), "updated_at": scope.now}
        if "id" in current and not (current["is_default_billing"] and current["is_default_shipping"]):
            await update_row(scope, "user_addresses", current["id"], **columns)
            continue
        if "id" in current:
            await update_row(scope, "user_addresses", current["id"], **{column: False}, updated_at=scope.now)
        columns |= {"user_id": user_id, column: True, "created_at": scope.now}
        await insert_row(scope, "user_addresses", **columns)
    return changed


def read_address_columns(values: InputValues) -> dict[str, str]:
    """Return the columns of a saved address by its members; raises ValidationFailed."""
    return _columns_of({**_BLANK, **read_fields(_FIELDS, values)})


def _columns_of(address: Mapping[str, str]) -> dict[str, str]:
    name = " ".join(text for text in (address["firstname"].strip(), address["lastname"].strip()) if text)
    return {"name": name, "lastname": address["lastname"].strip(), **{member: address[member] for member in _MEMBERS}}
