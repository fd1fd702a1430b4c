"""The saved addresses of a customer as an order has them, and orders of the legacy API without addresses, which get the default ones."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace

from domain.purchase.draft import ADDRESS_FIELDS, BILLING, SHIPPING, OrderDraft
from kernel.ids import split_reference
from kernel.scope import Scope
from models.connection.database import fetch

FIRSTNAME = """CASE WHEN t.lastname <> '' AND right(t.name, 1 + length(t.lastname)) = ' ' || t.lastname
    THEN left(t.name, -1 - length(t.lastname)) WHEN t.name = t.lastname THEN '' ELSE split_part(t.name, ' ', 1) END"""
"""The expression of the first name of an address: the name without its last name, else the first word of it."""
LASTNAME = f"btrim(substr(t.name, 1 + length({FIRSTNAME})))"
"""The expression of the last name of an address: the rest of the name."""
MEMBERS = {name: f"t.{name}" for name in ADDRESS_FIELDS} | {"firstname": FIRSTNAME, "lastname": LASTNAME}
"""The expressions of an address' members as orders have them, of a row `t` of saved addresses."""

_DEFAULTS = f"""
SELECT k.type, jsonb_build_object({", ".join(f"'{name}', {sql}" for name, sql in MEMBERS.items())})::text AS address
FROM users u
JOIN user_addresses t ON t.tenant_id = u.tenant_id AND t.user_id = u.id
JOIN (VALUES ('{BILLING}'), ('{SHIPPING}')) AS k (type)
    ON CASE k.type WHEN '{BILLING}' THEN t.is_default_billing ELSE t.is_default_shipping END
WHERE u.tenant_id = $1 AND (u.id = $2 OR u.public_id = $3) AND u.deleted_at IS NULL
"""


async def with_default_addresses(scope: Scope, draft: OrderDraft) -> OrderDraft:
    """Return a draft of the legacy API that says no address with the default ones of its customer, as CS-Cart places it."""
    if scope.family != "legacy" or draft.user is None or any(map(_says_where, draft.addresses.values())):
        return draft
    rows = await fetch(_DEFAULTS, scope.store.id, *split_reference(draft.user))
    return replace(draft, addresses={row["type"]: json.loads(row["address"]) for row in rows}) if rows else draft


def _says_where(address: Mapping[str, str]) -> bool:
    return any(text.strip() for text in address.values())
