"""Resolve destinations, taxes and promotions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from strawberry import Info

from auth.access import Access, open_to_shoppers
from domain.destinations.destinations import DESTINATION_RECORDS
from domain.promotions.promotions import PROMOTION_RECORDS
from domain.promotions.typed_terms import CONDITION_KINDS, stored_bonuses, stored_conditions
from domain.taxes.taxes import TAX_RECORDS
from kernel.errors import ValidationFailed
from kernel.scope import Scope
from models.reading.queries import Row
from resolvers.entity_mutations import RecordFunctions, build_entity_mutations
from resolvers.entity_queries import build_entity_queries
from resolvers.mutation_helpers import rename_error_fields
from schema.declaration import declare
from schema.fields import root_field
from schema.types.pricing import (
    DestinationInput,
    DestinationObject,
    TaxInput,
    TaxObject,
)
from schema.types.promotions import PromotionConditionTypeObject, PromotionInput, PromotionObject

_READ_DESTINATIONS = open_to_shoppers("view_shipping", "read_shipping")
_WRITE_DESTINATIONS = Access(privileges=("manage_shipping",), app_scope="write_shipping")
_READ_TAXES = open_to_shoppers("view_payments", ("read_products", "read_orders"))
_WRITE_TAXES = Access(privileges=("manage_payments",))
_READ_PROMOTIONS = Access(privileges=("view_content",), app_scope="read_content")
_WRITE_PROMOTIONS = Access(privileges=("manage_content",), app_scope="write_content")


def rename_destination_ids(fields: dict[str, Any]) -> dict[str, Any]:
    """Rename `destination_id` to the domain's name in rates."""
    if fields.get("rates") is not None:
        fields["rates"] = [
            {"destination" if name == "destination_id" else name: value for name, value in rate.items()}
            for rate in fields["rates"]
        ]
    return fields


_TYPED: Mapping[str, tuple[str, Callable[[Any], dict[str, Any]]]] = {
    "condition_tree": ("conditions", stored_conditions),
    "bonus_list": ("bonuses", stored_bonuses),
}


@contextmanager
def _stored_terms(fields: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Return the fields of a promotion with typed conditions and bonuses as JSON; errors name what the input has."""
    given = {name: target for name, target in _TYPED.items() if name in fields}
    stored = {name: value for name, value in fields.items() if name not in given}
    for name, (target, convert) in given.items():
        if target in fields:
            raise ValidationFailed(f"{name} and {target} are both set", field=name, code=f"{target}_invalid")
        stored[target] = convert(fields[name]) if fields[name] else {}
    with rename_error_fields({name: target for name, (target, _) in given.items()}):
        yield stored


async def _create_promotion(scope: Scope, fields: dict[str, Any]) -> int:
    with _stored_terms(fields) as stored:
        return await PROMOTION_RECORDS.create(scope, stored)


async def _update_promotion(scope: Scope, id: Any, fields: dict[str, Any]) -> int:
    with _stored_terms(fields) as stored:
        return await PROMOTION_RECORDS.update(scope, id, stored)


@declare
class PromotionQueries:
    """Further queries of promotions."""

    @root_field(_READ_PROMOTIONS)
    async def promotion_condition_types(self, info: Info) -> list[PromotionConditionTypeObject]:
        """Return the kinds of conditions, and what each takes."""
        return [Row(each._asdict()) for each in CONDITION_KINDS.values()]  # type: ignore[misc]


QUERIES = (
    PromotionQueries,
    build_entity_queries(DestinationObject, access=_READ_DESTINATIONS),
    build_entity_queries(TaxObject, access=_READ_TAXES),
    build_entity_queries(PromotionObject),
)
MUTATIONS = (
    build_entity_mutations(
        DestinationObject,
        DestinationInput,
        DESTINATION_RECORDS,
        _WRITE_DESTINATIONS,
        update_description="Update a destination; a provided list replaces the existing one.",
        delete_description="Delete a destination and its rates.",
    ),
    build_entity_mutations(
        TaxObject,
        TaxInput,
        TAX_RECORDS,
        _WRITE_TAXES,
        field_names={"destination_id": "destination"},
        transform=rename_destination_ids,
        create_description="Create a tax. It applies only to products, shipping methods and payment methods that reference it (`tax_ids`).",
        update_description="Update a tax; existing orders stay unchanged.",
        delete_description="Delete a tax; existing orders keep their tax amounts.",
    ),
    build_entity_mutations(
        PromotionObject,
        PromotionInput,
        RecordFunctions(_create_promotion, _update_promotion, PROMOTION_RECORDS.delete),
        _WRITE_PROMOTIONS,
        update_description="Update a promotion; existing orders keep their discounts.",
        delete_description="Delete a promotion; existing orders keep their discounts.",
    ),
)
