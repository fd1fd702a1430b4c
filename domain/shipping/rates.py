"""Write the rates of shipping methods by destination."""

from __future__ import annotations

from collections.abc import Mapping

from kernel.errors import ValidationFailed
from kernel.fields import MAX_QUANTITY, InputField, InputValues, cents, integer, read_fields
from kernel.ids import uuid7
from kernel.scope import Scope
from models.database import execute
from models.references import DESTINATION, resolve_all
from models.shipping import ShippingMethod

MAX_RATES = 1_000

RATE_FIELDS: Mapping[str, InputField] = {
    "base_cents": InputField("base_cents", cents(), code="price_invalid"),
    "per_kg_cents": InputField("per_kg_cents", cents(), code="price_invalid"),
    "per_item_cents": InputField("per_item_cents", cents(), code="price_invalid"),
    "max_weight_grams": InputField("max_weight_grams", integer(0, MAX_QUANTITY), code="weight_invalid"),
}
_PRICES = ("base_cents", "per_kg_cents", "per_item_cents")

_REPLACE = """
WITH dropped AS (
    DELETE FROM shipping_rates WHERE tenant_id = $1 AND shipping_method_id = $2 AND destination_id <> ALL($4::bigint[])
)
INSERT INTO shipping_rates (tenant_id, public_id, shipping_method_id, destination_id, base_cents, per_kg_cents, per_item_cents,
    max_weight_grams)
SELECT $1, g.public_id, $2, g.destination_id, g.base, g.per_kg, g.per_item, g.max_weight
FROM unnest($3::uuid[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[])
    AS g (public_id, destination_id, base, per_kg, per_item, max_weight)
ON CONFLICT (tenant_id, shipping_method_id, destination_id) DO UPDATE SET base_cents = excluded.base_cents,
    per_kg_cents = excluded.per_kg_cents, per_item_cents = excluded.per_item_cents, max_weight_grams = excluded.max_weight_grams
"""


async def write_rates(scope: Scope, method_id: int, values: InputValues) -> None:
    """Replace a method's rates by `rates [{destination, base_cents, per_kg_cents, per_item_cents, max_weight_grams}]`, if present.

    An entry without a destination sets the method's own prices, charged where it has no rates. Raises ValidationFailed for missing or
    repeated destinations.
    """
    rates = values.get("rates")
    if rates is None:
        return
    if len(rates) > MAX_RATES:
        raise ValidationFailed(
            f"rates has {len(rates)} entries; expected at most {MAX_RATES}", field="rates", code="too_many"
        )
    own_prices = [entry for entry in rates if entry.get("destination") is None]
    rates = [entry for entry in rates if entry.get("destination") is not None]
    rate_columns = [read_fields(RATE_FIELDS, entry) for entry in rates]
    for entry in own_prices:
        await _update_method_prices(scope, method_id, entry)
    references = [entry["destination"] for entry in rates]
    ids_by_reference = await resolve_all(scope, DESTINATION, references, field="destination")
    ids = [ids_by_reference[reference] for reference in references]
    if len(set(ids)) < len(ids):
        raise ValidationFailed("rates names a destination twice; expected each once", field="rates", code="duplicate")
    await execute(
        _REPLACE,
        scope.store.id,
        method_id,
        [uuid7() for _ in ids],
        ids,
        *([columns.get(name, 0) for columns in rate_columns] for name in RATE_FIELDS),
    )


async def _update_method_prices(scope: Scope, method_id: int, entry: InputValues) -> None:
    """Update the method's own prices, not its weights."""
    columns = read_fields({name: RATE_FIELDS[name] for name in _PRICES}, entry)
    await ShippingMethod.filter(id=method_id).update(**{name: columns.get(name, 0) for name in _PRICES})
