"""GraphQL reads what it writes: each field of a mutation's input has its counterpart on a type, or is listed with the reason."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from graphql import GraphQLField, GraphQLInputObjectType, GraphQLObjectType, get_named_type

from resolvers import root

SCHEMA = root.public_schema()
TYPES = SCHEMA.type_map

# Inputs of mutations that return something else than the record, and the type that has their fields.
RECORDS = {
    "CartAddressInput": "CartAddress",
    "CartCheckoutInput": "PlacedOrder",
    "CartItemInput": "CartItem",
    "CartItemUpdateInput": "CartItem",
    "FiscalDataInput": "FiscalData",
    "MediaUploadInput": "MediaFile",
    "ProductUpsertInput": "Product",
    "RegistrationInput": "User",
    "StorefrontKeyInput": "StorefrontKey",
    "TrackingEventInput": "TrackingEvent",
    "VendorSignupInput": "Vendor",
}
# Where a field is read under another name, a path from the record.
RENAMED = {
    "FeatureInput.category_ids": "categories.id",
    "FeatureValueInput.values": "variants.name",
    "FeatureValueInput.variant_ids": "variants.id",
    "MenuItemInput.target": "category.id",  # or that of another record, or the link
    "OptionInput.product_ids": "products.edges.node.id",
    "OrderInput.company_name": "customer.company_name",
    "OrderInput.email": "customer.email",
    "OrderInput.fax": "customer.fax",
    "OrderInput.firstname": "customer.name",
    "OrderInput.lastname": "customer.name",
    "OrderInput.phone": "customer.phone",
    "OrderInput.points_to_use": "points_spent",
    "PaymentMethodInput.tax_ids": "taxes.id",
    "ProductInput.category_ids": "categories.id",
    "ProductInput.tax_ids": "taxes.id",
    "ProductUpsertInput.category_ids": "categories.id",
    "ProductUpsertInput.tax_ids": "taxes.id",
    **{
        f"PromotionBonusInput.{name}": path
        for name, path in {
            "order_discount": "discount.value",
            "product_discount": "discount.value",
            "free_shipping": "shipping_method_ids",
            "free_products": "products.product_id",
            "give_points": "points",
            "give_coupon": "promotion_id",
        }.items()
    },
    "PromotionConditionInput.group": "conditions",
    "PromotionConditionInput.test": "kind",
    "ReviewInput.customer_id": "user_id",
    "ShipmentInput.order_status": "order.status",
    "ShippingMethodInput.tax_ids": "taxes.id",
    "VendorSignupInput.company": "name",
    "VariationGroupCreateInput.product_ids": "products.id",
    "VariationGroupInput.product_ids": "products.id",
    "WarehouseAreaInput.area_id": "id",
    "WarehouseStockInput.combination_id": "combinations.id",
    "WarehouseStockInput.quantity": "warehouse_stock.quantity",
    "WarehouseStockInput.warehouse_id": "warehouse_stock.warehouse_id",
}
# The members of the order that a checkout returns are those of a shop; the whole order is read by its customer and by staff.
OF_THE_ORDER = {
    "CartCheckoutInput.customer_id": "customer.id",
    "CartCheckoutInput.customer_email": "customer.email",
    "CartCheckoutInput.customer_name": "customer.name",
    "CartCheckoutInput.payment_id": "payment_method.id",
}
OF_THE_USER = {"VendorSignupInput.firstname": "firstname", "VendorSignupInput.lastname": "lastname"}
# What a gateway receives about the payer isn't kept, and an app knows what it has reported.
NOT_KEPT = {
    *(f"BillingInput.{name}" for name in ("name", "email", "document", "phone", "address")),
    *(f"PaymentReportInput.{name}" for name in ("charge_id", "failure")),
    # The language whose variables a new one gets.
    "LanguageInput.variables_from",
}
SECRETS = {"RegistrationInput.password", "UserInput.password", "VendorSignupInput.password"}


def _written() -> Iterator[tuple[GraphQLInputObjectType, GraphQLObjectType]]:
    """Yield each input of a mutation, nested ones too, with the type that its fields are read from."""
    assert SCHEMA.mutation_type is not None
    waiting = [
        (input_type, _record(input_type, field))
        for field in SCHEMA.mutation_type.fields.values()
        for argument in field.args.values()
        if isinstance(input_type := get_named_type(argument.type), GraphQLInputObjectType)
    ]
    done = set()
    while waiting:
        input_type, record = waiting.pop()
        if (input_type.name, record.name) in done:
            continue
        done.add((input_type.name, record.name))
        yield input_type, record
        for name, field in input_type.fields.items():
            nested = get_named_type(field.type)
            if isinstance(nested, GraphQLInputObjectType) and name in record.fields:
                of_record = get_named_type(record.fields[name].type)
                assert isinstance(of_record, GraphQLObjectType), f"{input_type.name}.{name} is read as {of_record}"
                waiting.append((nested, of_record))


def _record(input_type: GraphQLInputObjectType, field: GraphQLField) -> GraphQLObjectType:
    record = TYPES[RECORDS[input_type.name]] if input_type.name in RECORDS else get_named_type(field.type)
    assert isinstance(record, GraphQLObjectType), input_type.name
    return record


def _is_readable(record: GraphQLObjectType, path: str) -> bool:
    type_: object = record
    for name in path.split("."):
        if not isinstance(type_, GraphQLObjectType) or name not in type_.fields:
            return False
        type_ = get_named_type(type_.fields[name].type)
    return True


def _place(input_type: GraphQLInputObjectType, record: GraphQLObjectType, name: str) -> tuple[GraphQLObjectType, str]:
    """Return the record and the path that a field of an input is read from."""
    field = f"{input_type.name}.{name}"
    for type_name, paths in (("Order", OF_THE_ORDER), ("User", OF_THE_USER)):
        if field in paths:
            of_type = TYPES[type_name]
            assert isinstance(of_type, GraphQLObjectType), type_name
            return of_type, paths[field]
    own = name if name in record.fields or not name.endswith("_id") else f"{name.removesuffix('_id')}.id"
    return record, RENAMED.get(field, own)


def test_what_a_mutation_writes_can_be_read() -> None:
    written = list(_written())
    assert len(written) > 30
    unreadable = [
        f"{input_type.name}.{name} of {record.name}"
        for input_type, record in written
        for name in input_type.fields
        if f"{input_type.name}.{name}" not in SECRETS | NOT_KEPT and not _is_readable(*_place(input_type, record, name))
    ]
    assert unreadable == []


@pytest.mark.parametrize("listed", sorted({*RENAMED, *OF_THE_ORDER, *OF_THE_USER, *SECRETS, *NOT_KEPT}))
def test_what_is_listed_is_a_field_of_an_input_that_is_not_readable_by_its_name(listed: str) -> None:
    name, _, field = listed.partition(".")
    records = [record for input_type, record in _written() if input_type.name == name]
    assert field in TYPES[name].fields, listed  # type: ignore[attr-defined]
    assert not any(_is_readable(record, field) for record in records), listed
