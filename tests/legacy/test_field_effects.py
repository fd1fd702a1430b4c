"""Nothing is stored and shown without effect: every writable field of every entity is classified.

A field is content (a text that people read: its effect is to be shown), or it decides something, in the module named here, or it is listed
in docs/reference/legacy.md#fields-kept-for-the-client. A new field fails the test until it is classified.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from rest_facade.legacy.resource import Resource
from rest_facade.legacy.resources import RESOURCES

ROOT = Path(__file__).parents[2]
REFERENCE = (ROOT / "docs/reference/legacy.md").read_text()

CONTENT: Mapping[str, str] = {
    "products": "product product_code short_description full_description main_pair image_pairs page_title meta_keywords meta_description"
    " gtin ncm promo_text details_layout",
    "categories": "category description main_pair page_title meta_keywords meta_description",
    "features": "description",
    "options": "option_name description main_pair",
    "combinations": "product_code gtin",
    "orders": "firstname lastname phone company fax notes details ip_address fields b_firstname b_lastname b_city b_phone b_address"
    " b_address_2 s_firstname s_lastname s_phone s_address s_address_2",
    "shipments": "shipping carrier comments",
    "payments": "payment description instructions",
    "shippings": "shipping delivery_time",
    "promotions": "name",
    "taxes": "tax",
    "statuses": "color",
    "stores": "company phone address city state country zipcode url company_description page_title meta_keywords meta_description",
    "users": "lastname phone company b_firstname b_lastname b_phone b_address b_address_2 s_firstname s_lastname s_phone s_address"
    " s_address_2",
    "usergroups": "usergroup",
    "pages": "page link description meta_keywords meta_description page_title",
    "blocks": "name properties content",
    "discussions": "name message ip_address",
    "langvars": "value",
    "languages": "name",
    "subscribers": "email",
    "call_requests": "name phone time_from time_to notes",
    "managers": "name email phone",
    "business_partners": "company CNPJ email phone contact_name",
    "payment_codes": "description",
    "manager_transactions": "description",
    "warehouses": "name code description address phone email",
    "extra_order_fields": "link_nota codigo_pedido_erp chave_nota xml_nota pdf_nota base64_xml",
}
"""Texts and pictures by entity."""

_PRODUCTS, _LINES, _TERMS = "domain/catalog/read.py", "domain/purchase/lines.py", "domain/purchase/terms.py"
_OPTIONS, _FEATURES = "domain/purchase/option_selection.py", "domain/catalog/feature_values.py"
_CANDIDATES = "models/migrations/sql/0085_warehouse_dispatch/01_candidates.sql"
_LOADED_OPTIONS = "domain/catalog/product_options.py"
_RATES, _PEOPLE = "domain/purchase/references.py", "domain/people/accounts.py"
_PROMOTIONS, _LEGACY = "domain/promotions/rewards.py", "rest_facade/legacy/resources"
_FREIGHT = {
    "box_length": "domain/carriers/parcels.py length_mm", "box_width": "domain/carriers/parcels.py width_mm",
    "box_height": "domain/carriers/parcels.py height_mm", "shipping_freight": f"{_LINES} freight_cents",
}  # fmt: skip
DECIDED: Mapping[str, Mapping[str, str]] = {
    "products": {
        "price": f"{_LINES} price_cents", "list_price": f"{_PRODUCTS} compare_at", "amount": "domain/catalog/stock.py on_hand",
        "status": "domain/catalog/listing.py status", "company_id": f"{_LINES} vendor_id",
        "category_ids": f"{_PROMOTIONS} product_categories",
        "main_category": f"{_PRODUCTS} category", "weight": f"{_LINES} weight_grams", **_FREIGHT, "is_edp": f"{_LINES} is_edp",
        "free_shipping": f"{_LINES} ships_free", "tracking": f"{_LINES} tracking", "min_qty": f"{_LINES} min_quantity",
        "max_qty": f"{_LINES} max_quantity", "qty_step": f"{_LINES} quantity_step", "list_qty_count": f"{_LINES} quantity_choices",
        "tax_ids": f"{_TERMS} product_taxes", "seo_name": f"{_PRODUCTS} slug",
        "product_features": "domain/promotions/facts.py feature_values",
        "variation_feature_values": "domain/promotions/facts.py feature_values",
        "variation_group_id": "domain/catalog/variation_members.py place_products",
        "exceptions_type": "domain/catalog/products.py set_exception_types",
        "avail_since": "domain/catalog/listing.py available_since",
        "out_of_stock_actions": "domain/catalog/listing.py out_of_stock_action",
        "search_words": "domain/catalog/read.py search_words",
        "min_items_in_box": "domain/carriers/parcels.py box_min",
        "max_items_in_box": "domain/carriers/parcels.py box_max",
    },
    "categories": {
        "parent_id": f"{_PROMOTIONS} id_path", "status": "domain/catalog/listing.py status", "position": f"{_PRODUCTS} position",
        "seo_name": f"{_PRODUCTS} slug",
    },
    "features": {
        "feature_type": f"{_FEATURES} type", "parent_id": f"{_PRODUCTS} parent", "group_id": f"{_PRODUCTS} parent",
        "categories_path": f"{_PRODUCTS} feature_categories", "categories_ids": f"{_PRODUCTS} feature_categories",
        "status": f"{_PRODUCTS} status", "position": f"{_PRODUCTS} position", "variants": f"{_FEATURES} feature_variants",
    },
    "options": {
        "product_id": f"{_OPTIONS} product_options", "company_id": "domain/catalog/read_options.py vendor_id",
        "option_type": f"{_OPTIONS} type", "required": f"{_OPTIONS} required", "inventory": f"{_OPTIONS} inventory",
        "status": f"{_OPTIONS} status", "position": f"{_OPTIONS} position", "variants": f"{_OPTIONS} variants",
        "product_ids": f"{_OPTIONS} product_options", "allowed_extensions": "domain/carts/files.py allowed_extensions",
        "max_file_size": "domain/carts/files.py max_file_size",
    },
    "combinations": {
        "product_id": f"{_LOADED_OPTIONS} product_id", "combination": f"{_OPTIONS} combination", "amount": f"{_OPTIONS} stock",
        "price": f"{_OPTIONS} price_cents", "position": "domain/catalog/read_options.py position",
        **_FREIGHT,
    },
    "exceptions": {
        "product_id": f"{_LOADED_OPTIONS} product_id", "combination": f"{_OPTIONS} exception", "type": f"{_LOADED_OPTIONS} type",
    },
    "orders": {
        "user_id": f"{_PROMOTIONS} user_id", "status": "domain/orders/lifecycle.py status", "email": f"{_PROMOTIONS} email",
        "products": f"{_LINES} quantity", "payment_id": f"{_RATES} payment_method_id", "shipping_id": f"{_RATES} shipping_method_id",
        "shipping_ids": f"{_RATES} shipping_method_id", "restock": "domain/orders/transitions.py restock",
        "coupon_code": f"{_TERMS} coupon_code", "points_to_use": "domain/purchase/totals.py points",
        **dict.fromkeys(("b_state", "b_country", "b_zipcode"), f"{_TERMS} billed"),
        **dict.fromkeys(("s_state", "s_country", "s_zipcode", "s_city"), f"{_TERMS} shipped"),
    },
    "shipments": {
        "order_id": "domain/orders/shipments.py order", "products": "domain/orders/shipment_rows.py quantity",
        "shipping_id": "domain/orders/shipment_rows.py shipping_method_id", "user_id": "domain/orders/shipments.py user",
        "tracking_number": "domain/orders/shipment_rows.py tracking", "status": "domain/shipping/read.py status",
        "order_status": "domain/orders/shipments.py order_status",
    },
    "payments": {
        "processor_type": "domain/purchase/placement.py processor", "a_surcharge": "domain/purchase/totals.py surcharge",
        "p_surcharge": "domain/purchase/totals.py percent", "tax_ids": f"{_TERMS} payment_method_taxes",
        "position": "domain/payments/read.py position", "status": f"{_RATES} payment_available",
    },
    "shippings": {
        "company_id": "domain/shipping/quotes.py vendor_id", "min_weight": f"{_RATES} min_weight_grams",
        "max_weight": f"{_RATES} max_weight_grams", "free_from": "domain/purchase/totals.py free_from_cents",
        "tax_ids": f"{_TERMS} shipping_method_taxes", "position": "domain/shipping/quotes.py position",
        "status": f"{_RATES} shipping_available", "rates": f"{_TERMS} shipping_rates",
        "rate_source": "domain/shipping/quotes.py rate_source", "service_params": "domain/carriers/params.py SOURCES",
    },
    "promotions": {
        "zone": "domain/promotions/calculation.py zone", "conditions": "domain/promotions/rules.py rule",
        "bonuses": "domain/promotions/calculation.py gifts", "coupon_code": f"{_PROMOTIONS} coupon_code",
        "usage_limit": f"{_PROMOTIONS} usage_cap", "from_date": f"{_PROMOTIONS} from_at", "to_date": f"{_PROMOTIONS} to_at",
        "priority": "domain/promotions/calculation.py priority", "stop": "domain/promotions/calculation.py stop",
        "status": f"{_PROMOTIONS} status",
    },
    "taxes": {
        "address_type": f"{_TERMS} address_type", "rate_type": "domain/purchase/totals.py rate_type",
        "rate_value": "domain/purchase/totals.py rate_value", "price_includes_tax": "domain/purchase/totals.py included",
        "priority": "domain/purchase/totals.py priority", "status": f"{_TERMS} status", "rates": f"{_TERMS} tax_rates",
    },
    "statuses": {
        "status": "domain/orders/statuses.py letter", "type": "domain/orders/statuses.py type",
        "description": "domain/orders/lifecycle.py description", "params": "domain/orders/lifecycle.py notify",
        "position": "domain/orders/read.py position",
    },
    "stores": {
        "email": "domain/marketplace/vendors.py email", "has_no_email": "domain/marketplace/vendors.py has_no_email",
        "status": "domain/catalog/listing.py vendor",
        "CNPJ": "domain/marketplace/signup.py cnpj",
        "commission": "domain/purchase/totals.py commission", "commission_type": "domain/purchase/totals.py commission_type",
        "shippings": "domain/purchase/references.py shippings", "seo_name": "domain/marketplace/read.py slug",
    },
    "users": {
        "email": "auth/password_authentication.py email", "user_type": f"{_PEOPLE} user_type",
        "status": "auth/password_authentication.py status", "firstname": "domain/mails/outbox.py firstname",
        "company_id": f"{_PEOPLE} vendor_id", "CNPJ": "auth/password_authentication.py cnpj",
        "CPF": "auth/password_authentication.py cpf", "points": "domain/points/ledger.py points",
        "password": "auth/password_authentication.py password_hash",
        **dict.fromkeys(
            (f"{prefix}_{name}" for prefix in "bs" for name in ("city", "state", "country", "zipcode")),
            "domain/purchase/saved_addresses.py is_default_billing",
        ),
    },
    "usergroups": {
        "type": "domain/people/usergroups.py type", "status": f"{_PROMOTIONS} g.status", "privileges": "auth/privileges.py privileges",
    },
    "pages": {
        "parent_id": "domain/content/read.py parent", "position": "domain/content/read.py position",
        "status": "domain/content/read.py status", "lang_code": "domain/content/read.py lang_code",
        "seo_name": "domain/content/read.py slug",
    },
    "blocks": {
        "type": "domain/content/read.py type", "status": "domain/content/read.py status", "lang_code": "domain/content/read.py lang_code",
    },
    "discussions": {
        "thread_id": "domain/marketplace/reviews.py thread", "object_type": "domain/marketplace/reviews.py object_type",
        "object_id": "domain/marketplace/reviews.py object_id", "rating_value": "domain/marketplace/read.py rating",
        "user_id": "domain/marketplace/read.py user_id", "status": "domain/marketplace/read.py status",
    },
    "langvars": {"name": "domain/content/language_variables.py name", "lang_code": "domain/content/language_variables.py lang_code"},
    "languages": {
        "status": "domain/content/read.py status", "lang_code": "domain/content/languages.py code",
        "from_lang_code": "domain/content/languages.py variables_from",
    },
    "settings": {"value": "domain/store_settings.py setting"},
    "call_requests": {
        "product_id": "domain/people/read.py product_id", "order_id": "domain/people/read.py order_id",
        "status": "domain/people/read.py call_request_status",
    },
    "extra_order_fields": {"nota_fiscal": "domain/orders/read.py nota_fiscal"},
    "credit_score": {"CNPJ": "domain/b2b/bureau.py cnpj"},
    "order_limit": dict.fromkeys(("user_id", "company_id", "limit_amount"), "domain/orders/limits.py limit_cents"),
    "manager_transactions": {
        "manager_id": "domain/b2b/transactions.py manager", "type": "domain/b2b/transactions.py type",
        "amount": "domain/b2b/transactions.py amount_cents",
    },
    "payment_codes": {"code": "domain/b2b/record_types.py code"},
    "warehouses": {
        "status": f"{_CANDIDATES} status", "priority": f"{_CANDIDATES} priority",
        "is_default": f"{_CANDIDATES} is_default", "shipping_delay": "domain/warehouses/dispatch.py shipping_delay",
        "company_id": "domain/warehouses/dispatch.py vendor_id", "delivery_areas": "domain/warehouses/dispatch.py delivery_time",
        "user_groups": f"{_CANDIDATES} allocation_type",
        **dict.fromkeys(("city", "state", "country", "zipcode"), "domain/warehouses/read.py city"),
    },
}  # fmt: skip
"""By entity and field, the module in which the field decides something and the name by which it is known there."""


def writable(resource: Resource) -> set[str]:
    """Return the fields of an entity that a body sets."""
    return {
        field.name for field in (*resource.fields, *resource.detail_fields, *resource.input_fields) if field.input_path
    }


def kept() -> dict[str, set[str]]:
    """Return the fields that the reference lists as kept for the client, by entity."""
    section = REFERENCE.split("## Fields kept for the client\n")[1].split("\n## ")[0]
    rows = re.findall(r"^\| (\w+) \| (`.+?`) \|", section, re.MULTILINE)
    fields: dict[str, set[str]] = {}
    for entity, names in rows:
        fields.setdefault(entity, set()).update(re.findall(r"`(\w+)`", names))
    return fields


def classes(resource: Resource) -> dict[str, set[str]]:
    return {
        "content": set(CONTENT.get(resource.path, "").split()),
        "decided": set(DECIDED.get(resource.path, ())),
        "kept": kept().get(resource.path, set()),
    }


@pytest.mark.parametrize("resource", RESOURCES, ids=lambda resource: resource.path)
def test_every_writable_field_has_an_effect_or_is_documented_as_kept(resource: Resource) -> None:
    by_class = classes(resource)
    classified = set().union(*by_class.values())
    where = f'"{resource.path}" in tests/legacy/test_field_effects.py'
    assert writable(resource) - classified == set(), (
        f"add these fields to CONTENT (texts that people read) or DECIDED (with the module that uses them), at {where}, or list them in"
        " docs/reference/legacy.md#fields-kept-for-the-client"
    )
    assert classified - writable(resource) == set(), f"remove these fields, which no body sets, at {where}"
    assert sum(map(len, by_class.values())) == len(classified), f"name each field once: {where}"


def test_only_entities_are_classified() -> None:
    assert {*CONTENT, *DECIDED, *kept()} <= {resource.path for resource in RESOURCES}


def _uses() -> Iterator[tuple[str, str, str]]:
    for path, fields in DECIDED.items():
        for name, use in fields.items():
            yield f"{path}.{name}", *use.split()  # type: ignore[misc]


def test_the_module_named_for_a_field_uses_it() -> None:
    for field, module, word in _uses():
        assert word in (ROOT / module).read_text(), f"{module} does not decide anything by {field} any more"
