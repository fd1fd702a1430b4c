"""Describe the values of GraphQL fields of type `JSON` for the OpenAPI documents of the REST families; GraphQL knows no type for them."""

from __future__ import annotations

from collections.abc import Mapping

from kernel.json_schema import (
    DATE_TIME,
    FREE_OBJECT,
    INTEGER,
    STRING,
    Schema,
    array,
    described,
    enum,
    map_of,
    named,
    nullable,
    object_schema,
    one_of,
)

# Conditions and bonuses are returned as they were written.
_CONDITION_SET = {
    "type": "object",
    "properties": {
        "set": enum(("all", "any")),
        "set_value": described({"type": ["string", "integer", "boolean"]}, "`1`: they hold; `0`: they don't."),
        "conditions": one_of(array(FREE_OBJECT), FREE_OBJECT),
    },
    "additionalProperties": True,
}
_CONDITIONS = described(
    one_of(named("PromotionConditionSet", _CONDITION_SET), array(FREE_OBJECT)),
    "Conditions by name, all of which must hold, or CS-Cart's tree of sets (docs/promotions.md#conditions).",
)
_BONUSES = described(
    one_of(FREE_OBJECT, array(FREE_OBJECT)),
    "Bonuses by name, or CS-Cart's array of objects named by `bonus` (docs/promotions.md#bonuses).",
)
_OPTIONS = described(map_of({"type": ["string", "integer"]}), "Variant ID or text by option ID.")
_DELIVERY_ATTEMPT = object_schema(
    number=described(INTEGER, "From 1."),
    at=DATE_TIME,
    status=described(nullable(INTEGER), "The HTTP status; null without a response."),
    error=STRING,
    duration_ms=described(INTEGER, "The duration, in milliseconds."),
)

JSON_FIELDS: Mapping[tuple[str, str], Schema] = {
    ("AuditEntry", "details"): FREE_OBJECT,
    ("Block", "content"): FREE_OBJECT,
    ("Block", "properties"): FREE_OBJECT,
    ("BlockInput", "content"): FREE_OBJECT,
    ("BlockInput", "properties"): FREE_OBJECT,
    ("CartItem", "option_values"): _OPTIONS,
    ("CartItemInput", "options"): _OPTIONS,
    ("Combination", "choice_numbers"): described(map_of(STRING), "Variant id by option id."),
    ("Event", "data"): described(FREE_OBJECT, "The data of the event, by its name (docs/events.md)."),
    ("EventDelivery", "attempts"): array(named("DeliveryAttempt", _DELIVERY_ATTEMPT)),
    ("OptionException", "choice_numbers"): described(
        map_of(STRING), "Variant id by option id; `-1` is any variant, `-2` none."
    ),
    ("OptionFileUpload", "headers"): map_of(STRING),
    ("Order", "fields"): FREE_OBJECT,
    ("OrderInput", "fields"): FREE_OBJECT,
    ("OrderLine", "extra"): FREE_OBJECT,
    ("OrderLine", "picture"): FREE_OBJECT,
    ("OrderItemInput", "extra"): FREE_OBJECT,
    ("OrderItemInput", "options"): _OPTIONS,
    ("PaymentMethodInput", "processor_params"): FREE_OBJECT,
    ("Promotion", "bonuses"): _BONUSES,
    ("Promotion", "conditions"): _CONDITIONS,
    ("PromotionInput", "bonuses"): _BONUSES,
    ("PromotionInput", "conditions"): _CONDITIONS,
    ("ShippingMethod", "price_list"): array(FREE_OBJECT),
    ("ShippingMethod", "service"): FREE_OBJECT,
    ("ShippingMethodInput", "rate_params"): FREE_OBJECT,
    ("ShippingMethodInput", "service"): FREE_OBJECT,
    ("VariationGroup", "legacy_features"): array(FREE_OBJECT),
    ("VariationGroup", "legacy_products"): array(FREE_OBJECT),
    ("VariationGroupResult", "statuses"): map_of(INTEGER),
    ("Vendor", "shippings"): FREE_OBJECT,
    ("VendorInput", "shippings"): FREE_OBJECT,
}
