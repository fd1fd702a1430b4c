"""Import answers in the shapes that CS-Cart's documentation shows, with PHP's numbers as texts, empty arrays and missing members."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from kernel.clock import now
from kernel.scope import Store
from server.importers.cscart import run
from server.importers.cscart.report import Report
from tests.harness.scopes import execute, rows, value
from tests.importers.shops import SavedShop

ICON = {
    "pair_id": "805",
    "image_id": "861",
    "detailed_id": "0",
    "icon": {"image_path": "http://shop.example/images/variant_image/0/black.jpg", "alt": "", "image_x": "500"},
}
ADDRESS = {
    **{f"{kind}_{name}": text for kind in "bs" for name, text in {
        "firstname": "Customer", "lastname": "Customer", "address": "44 Main street", "address_2": "", "city": "Boston",
        "county": "", "state": "MA", "country": "US", "zipcode": "02134", "phone": "", "country_descr": "United States",
    }.items()},
}  # fmt: skip


def line(item: str, product: str, amount: int | str, price: str, **members: Any) -> dict[str, Any]:
    return {
        "item_id": item,
        "product_id": product,
        "product_code": "F0031LR44N",
        "price": price,
        "amount": amount,
        "extra": {"product_options": {"3": "12"}, "product": "T-shirt", "company_id": "1", "is_edp": "N"},
        "product": "T-shirt",
        "company_id": "1",
        "original_price": price,
        "subtotal": float(price) * int(amount),
        "shipped_amount": 0,
        **members,
    }


def order(number: int, **members: Any) -> dict[str, Any]:
    return {
        "order_id": str(number),
        "is_parent_order": "N",
        "parent_order_id": "0",
        "company_id": "1",
        "issuer_id": None,
        "user_id": "3",
        "total": "677.950000",
        "subtotal": "650.000000",
        "discount": "10.00",
        "subtotal_discount": "0.00",
        "payment_surcharge": "0.00",
        "shipping_ids": "1",
        "shipping_cost": "27.95",
        "timestamp": "1456917981",
        "status": "O",
        "notes": "",
        "details": None,
        "firstname": "Customer",
        "lastname": "Customer",
        "email": "Customer@Example.com",
        "phone": False,
        "payment_id": "2",
        "tax_exempt": "N",
        "lang_code": "en",
        "ip_address": "127.0.0.1",
        "fields": [],
        "taxes": {"6": {
            "rate_type": "P", "rate_value": "10.000", "price_includes_tax": "Y", "regnumber": "1234242", "priority": "0",
            "tax_subtotal": 61.63, "description": "VAT", "applies": {"P": 59.09, "S": 2.54},
        }},
        "tax_subtotal": 0,
        "display_subtotal": 650,
        "payment_info": {"card_number": "4111XXXXXXXX1111", "transaction_id": "42"},
        "payment_method": {"payment_id": "2", "payment": "Credit card", "processor_params": {"password": "secret"}},
        "products": {"1104482741": line("1104482741", "12", 2, "325.000000", base_price=325)},
        "shipping": [{"shipping_id": "1", "shipping": "Custom shipping method", "rate": 27.95}],
        "coupons": [],
        "promotions": [],
        **ADDRESS,
        **members,
    }  # fmt: skip


def row_of(record: dict[str, Any]) -> dict[str, Any]:
    """Return the row of an order in the list, which has few members."""
    names = ("order_id", "is_parent_order", "company_id", "user_id", "timestamp", "email", "status", "total")
    return {**{name: record[name] for name in names}, "invoice_id": None, "points": None}


PRODUCT = {
    "product_id": "12",
    "product": "100g Pants",
    "product_type": "P",
    "product_code": "U0012O5AF0",
    "company_id": "1",
    "company_name": "Simtech",
    "list_price": "40.00",
    "price": "30.000000",
    "base_price": "30.000000",
    "amount": "-2",
    "weight": "0.350",
    "length": "0",
    "status": "H",
    "tracking": "O",
    "timestamp": "1328040000",
    "updated_timestamp": "1384329600",
    "is_edp": "N",
    "edp_shipping": "N",
    "free_shipping": "Y",
    "min_qty": "0",
    "max_qty": "0",
    "tax_ids": ["6", "99"],
    "usergroup_ids": "0",
    "exceptions_type": "A",
    "full_description": "<p>Warm</p>",
    "short_description": "",
    "meta_keywords": "",
    "meta_description": None,
    "page_title": "",
    "seo_name": "100g-pants",
    "category_ids": [224, "167"],
    "main_category": 224,
    "has_options": True,
    "main_pair": {
        "pair_id": "823",
        "image_id": "0",
        "detailed_id": "882",
        "position": "0",
        "detailed": {"image_path": "http://shop.example/a.jpg", "alt": "", "image_x": "500", "image_y": "500"},
    },
    "image_pairs": {
        "824": {"pair_id": "824", "detailed": {"image_path": "http://shop.example/b.jpg", "alt": None}, "position": "0"},
        "825": {"pair_id": "825", "detailed": {"image_path": "ftp://shop.example/c.jpg"}, "position": "0"},
        "826": {"pair_id": "826", "detailed": {"image_path": "http://shop.example/d.jpg"}, "position": "0"},
    },
    "product_features": {
        "18": {"feature_id": "18", "feature_type": "E", "value": "", "variant_id": "86", "variant": "Adidas"},
        "19": {
            "feature_id": "19", "feature_type": "M", "value": "", "value_int": None, "variant_id": None,
            "variants": {"90": {"variant_id": "90", "variant": "Red"}, "91": {"variant_id": "91", "variant": "Blue"}},
        },
        "20": {"feature_id": "20", "feature_type": "O", "value": "", "value_int": "12.50", "variant_id": None},
        "21": {"feature_id": "21", "feature_type": "D", "value": "", "value_int": "1356998400"},
        "22": {"feature_id": "22", "feature_type": "C", "value": "Y"},
        "23": {"feature_id": "23", "feature_type": "T", "value": "", "variants": []},
        "24": {"feature_id": "24", "feature_type": "S", "value": "", "variant_id": "77"},
    },
}  # fmt: skip

SHOP: dict[str, Any] = {
    "languages": {"languages": [
        {"lang_id": "3", "lang_code": "en", "name": "English", "status": "A", "country_code": "US", "direction": "ltr"},
        {"lang_id": "1", "lang_code": "pt", "name": "Português", "status": "A", "country_code": "BR", "direction": "ltr"},
    ]},
    "statuses": {"statuses": [
        {"status_id": "1", "status": "C", "type": "O", "is_default": "Y", "description": "Complete", "params": {
            "color": "#97CF4D", "notify": "Y", "inventory": "D", "remove_cc_info": "Y"}},
        {"status_id": "6", "status": "O", "type": "O", "is_default": "Y", "description": "Open", "params": {"inventory": "I"}},
        {"status_id": "20", "status": "Y", "type": "O", "is_default": "Y", "description": "Awaiting call", "params": {
            "inventory": "I", "notify": "N"}},
        {"status_id": "21", "status": "A", "type": "G", "description": "Gift certificate", "params": []},
    ]},
    "usergroups": {
        "4": {"usergroup_id": "4", "type": "C", "status": "A", "usergroup": "Wholesale"},
        "5": {"usergroup_id": "5", "type": "A", "status": "A", "usergroup": "Managers", "privileges": {
            "manage_catalog": "Y", "backup_restore": "Y"}},
    },
    "vendors": {"vendors": [{
        "company_id": "1", "lang_code": "en", "email": "simtech@example.com", "company": "Simtech",
        "timestamp": "1269610461", "status": "A", "seo_name": "simtech", "average_rating": None,
    }], "params": [0]},
    "vendors/1": {"company_id": "1", "company": "Simtech", "phone": "55 5555", "url": "shop.example", "shippings": "1,3",
                  "country": "US", "commission": "10.5"},
    "users": {"users": [
        {"user_id": "1", "is_root": "Y", "user_type": "A", "email": "admin@example.com", "status": "A", "company_id": "0"},
        {"user_id": "3", "user_type": "C", "email": "Customer@example.com", "status": "A", "timestamp": "1269610461"},
        {"user_id": "4", "user_type": "C", "email": "customer@example.com", "status": "A"},
        {"user_id": "5", "user_type": "C", "email": "no address", "status": "A"},
    ], "params": {"page": 1, "items_per_page": "10", "total_items": "4"}},
    "users/1": {"user_id": "1", "firstname": "Ann", "phone": "n/a", "usergroups": {
        "9": {"link_id": "9", "usergroup_id": "5", "status": "A"}}},
    "users/3": {"user_id": "3", "firstname": "Customer", "phone": "+1 646-386-3600", "points": "12", "usergroups": []},
    "users/4": {"user_id": "4", "phone": ""},
    "users/5": {"user_id": "5", "phone": ""},
    "categories": {"categories": [
        {"category_id": "224", "parent_id": "166", "id_path": "166/224", "category": "Pants", "position": "-10", "status": "H"},
        {"category_id": "166", "parent_id": "0", "id_path": "166", "category": "Clothes", "position": "0", "status": "A"},
        {"category_id": "167", "parent_id": "0", "category": "Sport", "position": "", "status": "A", "description": "x"},
        {"category_id": "300", "parent_id": "301", "category": "A", "status": "A", "description": ""},
        {"category_id": "301", "parent_id": "300", "category": "B", "status": "A", "description": ""},
    ], "params": {"total_items": "5", "items_per_page": 250}},
    "categories/224": {"category_id": "224", "description": "<p>Pants</p>", "timestamp": "1328040000", "company_id": "1"},
    "categories/166": {"category_id": "166", "description": None},
    "features": {"features": [
        {"feature_id": "18", "feature_type": "E", "description": "Brand", "parent_id": "0", "categories_path": "166,224"},
        {"feature_id": "19", "feature_type": "M", "description": "Colour", "parent_id": "0", "variants": [
            {"variant_id": "90", "variant": "Red"}, {"variant_id": "91", "variant": "Blue"}]},
        *({"feature_id": number, "feature_type": type_, "description": type_, "variants": []}
          for number, type_ in (("20", "O"), ("21", "D"), ("22", "C"), ("23", "T"), ("24", "S"))),
    ], "params": {}},
    "features/18": {"feature_id": "18", "variants": {"86": {"variant_id": "86", "variant": "Adidas", "position": "0"}}},
    "taxes": {"taxes": [{"tax_id": "6", "tax": "VAT", "address_type": "S", "status": "A", "price_includes_tax": "Y"}]},
    "taxes/6": {"tax_id": "6", "regnumber": "1234242", "rates": {"1": {"rate_id": "9", "rate_value": "10.000", "rate_type": "P"}}},
    "shippings": {"shippings": [{"shipping_id": "1", "shipping": "Custom shipping method", "status": "A", "company_id": "0"}]},
    "shippings/1": {"shipping_id": "1", "delivery_time": "3-5 days", "min_weight": "0.00", "max_weight": "0.00",
                    "rates": [{"destination_id": "0", "rate_value": {
                        "C": [{"value": "28.000", "type": "F"}, {"value": "20.000", "type": "F"}],
                        "W": {"0": {"value": "2.5", "type": "F", "per_unit": "Y"}}, "I": []}}]},
    "payments": {"payments": [{"payment_id": "2", "payment": "Credit card", "status": "A", "a_surcharge": "0.000",
                               "p_surcharge": "2.500", "tax_ids": "6", "processor_type": "P", "processor": "PayPal"}]},
    "payments/2": {"payment_id": "2", "instructions": "", "processor_params": {"account": "a@example.com", "mode": "test"}},
    "products": {"products": [{"product_id": "12", "product": "100g Pants", "price": "30.000000", "has_options": True}],
                 "params": {"page": 1, "items_per_page": 250, "total_items": "1", "sort_by": "product_id"}},
    "products/12": PRODUCT,
    "options?product_id=12": {
        "3": {"option_id": "3", "product_id": "12", "company_id": "1", "option_type": "S", "inventory": "Y", "required": "N",
              "status": "A", "position": "20", "option_name": "Size", "description": "", "variants": {
                  "12": {"variant_id": "12", "modifier": "0.000", "modifier_type": "A", "variant_name": "Small", "image_pair": []},
                  "13": {"variant_id": "13", "modifier": "-5.500", "modifier_type": "P", "variant_name": "Large",
                         "image_pair": ICON}}},
        "4": {"option_id": "4", "product_id": "0", "option_type": "C", "inventory": "N", "status": "A", "option_name": "Gift",
              "variants": {"17": {"variant_id": "17", "variant_name": ""}, "18": {"variant_id": "18", "variant_name": ""}}},
    },
    "combinations": ValueError,
    "combinations?product_id=12": [
        {"product_id": "12", "product_code": "S", "combination_hash": "822274303", "combination": {"3": "12"},
         "amount": "50", "temp": "N", "position": "0", "image_pairs": {}},
        {"product_id": "12", "product_code": "L", "combination_hash": "2310967194", "combination": {"3": "13"}, "amount": "0"},
    ],
    "exceptions?product_id=12": [
        {"exception_id": "1", "product_id": "12", "combination": {"3": "12", "4": "17"}},
        {"exception_id": "5", "product_id": "12", "combination": {"3": "13", "4": "-2"}},
        {"exception_id": "6", "product_id": "12", "combination": {"3": "-1"}},
    ],
    "pages": {"pages": [{"page_id": "2", "parent_id": "0", "page": "About us", "page_type": "T", "status": "H",
                         "lang_code": "en", "timestamp": "1328040000", "description": "<p>x</p>", "position": "10"}]},
    "orders": {"orders": [row_of(order(number)) for number in (97, 98, 99, 100, 101)], "params": {
        "page": 1, "items_per_page": "250", "total_items": "5"}},
    "orders/97": order(97),
    "orders/98": order(98, user_id="0", status="C", products={
        "1104482741": line("1104482741", "12", 1, "325.00"), "5": line("5", "999", "3", "1.00", company_id="7")}),
    "orders/99": order(99, is_parent_order="Y"),
    "orders/100": order(100, status="N"),
    "orders/101": order(101, status="Y", total="-1.00"),
    "shipments": {"shipments": [{"shipment_id": "1", "order_id": "98"}, {"shipment_id": "2", "order_id": "77"}]},
    "shipments/1": {"shipment_id": "1", "shipment_timestamp": "1456918000", "order_id": "98", "shipping_id": "1",
                    "shipping": "Custom shipping method", "tracking_number": "T1", "carrier": "usps", "comments": "",
                    "user_id": "0", "order_timestamp": "1456917981", "products": {"1104482741": "1"}, "group_key": 0},
    "shipments/2": {"shipment_id": "2", "order_id": "77", "products": {"1": "1"}},
    "discussions": {"discussions": [
        {"post_id": "18", "thread_id": "7", "object_type": "P", "object_id": "12", "type": "B", "name": "John Doe",
         "message": "Good", "rating_value": "4", "user_id": "0", "status": "A", "timestamp": "1456918000", "ip_address": ""},
        {"post_id": "19", "thread_id": "8", "object_type": "M", "object_id": "1", "message": "Nice vendor", "rating_value": 5},
    ]},
}  # fmt: skip


class PickyShop(SavedShop):
    """A shop that lists combinations of one product only."""

    async def get(self, path: str, **query: object) -> Any:
        from server.importers.cscart.source import SourceError

        if path == "combinations" and "product_id" not in query:
            raise SourceError("status 400: Required field product_id is not specified")
        return await super().get(path, **query)


def shop(**changes: Any) -> PickyShop:
    answers = {name: answer for name, answer in deepcopy(SHOP).items() if answer is not ValueError}
    return PickyShop(answers | changes)


@pytest.fixture(scope="module")
async def imported(new_store: Any) -> tuple[Store, Report]:
    store = await new_store()
    return store, await run.run(shop(), store.public_id)


async def of(store: Store, table: str, columns: str, where: str = "true") -> list[tuple[Any, ...]]:
    sql = f"SELECT {columns} FROM {table} WHERE tenant_id = $1 AND {where} ORDER BY 1, 2"
    return [tuple(row) for row in await rows(store, sql, store.id)]


async def test_languages_and_statuses_get_the_numbers_of_the_source(imported: tuple[Store, Report]) -> None:
    store, _ = imported
    assert await of(store, "languages", "id, code") == [(1, "pt"), (3, "en")]
    statuses = {
        row[1]: row
        for row in await of(store, "statuses", "id, letter, description, color, inventory, notify", "type = 'O'")
    }
    assert statuses["C"] == (1, "C", "Complete", "#97cf4d", "D", True)
    assert statuses["O"][0] == 6
    assert statuses["O"][4] == "D", "a built-in status keeps its rule"
    assert statuses["Y"] == (20, "Y", "Awaiting call", "", "I", False)
    assert len({row[0] for row in statuses.values()}) == 8, "those that the source doesn't have got other numbers"
    assert await value(store, "SELECT status_letters ->> 'O' FROM tenants WHERE id = $1", store.id) == '{"Y": "I"}'


async def test_people_are_brought_without_passwords(imported: tuple[Store, Report]) -> None:
    store, report = imported
    users = await of(store, "users", "id, email, user_type, phone, points, password_hash")
    assert users == [
        (1, "admin@example.com", "A", None, 0, None),
        (3, "customer@example.com", "C", "16463863600", 12, None),
    ]
    assert await of(store, "usergroups", "id, name, privileges") == [
        (4, "Wholesale", []),
        (5, "Managers", ["manage_catalog"]),
    ]
    assert await of(store, "usergroup_memberships", "user_id, usergroup_id, status") == [(1, 5, "A")]
    assert ("users", "4", "another user of the store has the e-mail") in report.failures
    assert any(entity == "users" and number == "5" and "email" in reason for entity, number, reason in report.failures)
    assert ("users", "phone is 'n/a'; expected a telephone number; left out") in report.notes


async def test_the_tree_of_categories_is_brought_parents_first(imported: tuple[Store, Report]) -> None:
    store, report = imported
    assert await of(store, "categories", "id, name, id_path, position, status, vendor_id") == [
        (166, "Clothes", "166", 0, "A", None),
        (167, "Sport", "167", 0, "A", None),
        (224, "Pants", "166/224", 0, "H", 1),
    ]
    circle = [(number, reason) for entity, number, reason in report.failures if entity == "categories"]
    assert circle == [
        ("300", "parent_id 301 is not among the categories"),
        ("301", "parent_id 300 is not among the categories"),
    ]


async def test_a_product_is_brought_with_its_parts(imported: tuple[Store, Report]) -> None:
    store, report = imported
    columns = "id, name, sku, slug, price_cents, compare_at_cents, on_hand, status, tracking, weight_grams, category_id, vendor_id"
    assert await of(store, "products", columns) == [
        (12, "100g Pants", "U0012O5AF0", "100g-pants", 3000, 4000, 0, "H", "B", 350, 224, 1)
    ]
    assert await of(store, "product_categories", "position, category_id") == [(0, 224), (1, 167)]
    assert await of(store, "product_images", "position, id, url") == [
        (0, 823, "http://shop.example/a.jpg"),
        (1, 824, "http://shop.example/b.jpg"),
        (3, 826, "http://shop.example/d.jpg"),
    ]
    assert await of(store, "product_taxes", "product_id, tax_id") == [(12, 6)]
    assert await of(store, "feature_values", "feature_id, variant_id, value, value_int") == [
        (18, 86, "", None),
        (19, None, "", None),
        (20, None, "12.50", 12),
        (21, None, "2013-01-01", 1356998400),
        (22, None, "Y", None),
    ]
    assert await of(store, "feature_value_variants", "variant_id, 1") == [(90, 1), (91, 1)]
    notes = {text for entity, text in report.notes if entity == "products"}
    assert "amount is below zero; 0 was brought" in notes
    assert "tax 99 is not among the taxes; left out" in notes
    assert any("'ftp://shop.example/c.jpg'" in text for text in notes)
    assert any(text.startswith("the value of feature 24 ") for text in notes)


async def test_options_are_read_product_by_product(imported: tuple[Store, Report]) -> None:
    store, report = imported
    assert await of(store, "options", "id, product_id, name, type, inventory") == [
        (3, 12, "Size", "S", True),
        (4, None, "Gift", "C", False),
    ]
    assert await of(store, "option_variants", "id, name, modifier, modifier_type, image_url") == [
        (12, "Small", 0, "A", ""),
        (13, "Large", -550, "P", "http://shop.example/images/variant_image/0/black.jpg"),
        (17, "0", 0, "A", ""),
        (18, "1", 0, "A", ""),
    ]
    assert await of(store, "product_options", "product_id, option_id") == [(12, 3), (12, 4)]
    assert await of(store, "combinations", "id, hash, sku, on_hand") == [(1, "3_12", "S", 50), (2, "3_13", "L", 0)]
    assert await of(store, "option_exceptions", "id, type, hash") == [(1, "A", "3_12_4_17"), (5, "A", "3_13_4_0")]
    assert ("exceptions", "6", "it has no option variants") in report.failures


async def test_methods_are_brought_without_secrets(imported: tuple[Store, Report]) -> None:
    store, report = imported
    assert await of(store, "payment_methods", "id, name, processor, surcharge_percent, processor_params") == [
        (2, "Credit card", "PayPal", 250, None)
    ]
    assert await of(store, "payment_method_taxes", "payment_method_id, tax_id") == [(2, 6)]
    assert await of(store, "shipping_methods", "id, base_cents, per_kg_cents, delivery_time") == [
        (1, 2800, 250, "3-5 days")
    ]
    assert "destinations" in report.missing
    assert ("taxes", "the rate of destination 1 is not among the destinations; left out") in report.notes


async def test_orders_keep_their_amounts_and_times(imported: tuple[Store, Report]) -> None:
    store, report = imported
    columns = (
        "id, user_id, status, total_cents, subtotal_cents, shipping_cents, discount_cents, email, payment_status, stock_state,"
        " extract(epoch FROM created_at)::bigint, imported"
    )
    assert await of(store, "orders", columns) == [
        (97, 3, "O", 67795, 65000, 2795, 0, "customer@example.com", "unpaid", "N", 1456917981, True),
        (98, None, "C", 67795, 65000, 2795, 0, "customer@example.com", "paid", "N", 1456917981, True),
    ]
    lines = await of(
        store, "order_lines", "order_id, position, id, product_id, vendor_id, quantity, price_cents, base_price_cents"
    )
    assert lines == [
        (97, 1, 1104482741, 12, 1, 2, 32500, 32500),
        (98, 1, lines[1][2], 12, 1, 1, 32500, 32500),
        (98, 2, 5, None, None, 3, 100, 100),
    ]
    assert lines[1][2] == 1104482742, "the item's number belongs to another order, so it got the next one"
    assert await of(store, "order_taxes", "order_id, name, tax_id, amount_cents, included", "order_id = 97") == [
        (97, "VAT", 6, 6163, True)
    ]
    addresses = await of(store, "order_addresses", "kind, street, city, country, zipcode", "order_id = 97")
    assert addresses == [(kind, "44 Main street", "Boston", "US", "02134") for kind in "BS"]
    assert await of(store, "order_status_changes", "order_id, from_status, to_status, reason") == [
        (97, "", "O", "imported"),
        (98, "", "C", "imported"),
    ]
    assert await of(store, "payments", "id, order_id") == [], "what a processor stored is never brought"
    refused = {number: reason for entity, number, reason in report.failures if entity == "orders"}
    assert refused == {
        "99": "it only joins the orders of several vendors, which are brought themselves",
        "100": "status 'N' is not among the statuses",
        "101": "total is -1.00; expected zero or more",
    }
    assert ("orders", "product_id 999 is not among the products; left out") in report.notes
    assert (report.source.orders, report.target.orders) == (5, 2)
    assert "orders: 5 there, 2 here: different" in report.lines()


async def test_a_shipment_refers_to_the_line_of_its_order(imported: tuple[Store, Report]) -> None:
    store, report = imported
    assert await of(store, "shipments", "id, order_id, tracking_number, user_id") == [(1, 98, "T1", None)]
    assert await of(store, "shipment_lines", "shipment_id, order_line_id, quantity") == [(1, 1104482742, 1)]
    assert ("shipments", "2", "order_id 77 is not among the orders") in report.failures


async def test_posts_are_brought_with_their_threads(imported: tuple[Store, Report]) -> None:
    store, report = imported
    assert await of(store, "discussion_threads", "id, object_type, object_id") == [(7, "P", 12)]
    assert await of(store, "discussion_posts", "id, thread_id, rating, message") == [(18, 7, 4, "Good")]
    assert [number for entity, number, _ in report.failures if entity == "discussions"] == ["19"]


async def test_the_same_answers_again_add_nothing(imported: tuple[Store, Report]) -> None:
    store, first = imported
    again = await run.run(shop(), store.public_id)
    assert all(count.added == count.changed == 0 for count in again.counts.values())
    assert again.failures == first.failures


async def test_changed_answers_are_written_again_since(new_store: Any) -> None:
    store = await new_store()
    await run.run(shop(), store.public_id)
    changed = order(98, status="C", timestamp="1456917981", total="5.00", products={
        "6": line("6", "12", 4, "1.25"), "1104482741": line("1104482741", "12", 1, "325.00")})  # fmt: skip
    listed = {"orders": [row_of(order(97)), row_of(changed)], "params": {"total_items": "2"}}
    product = PRODUCT | {"price": "31.00", "seo_name": "", "product_features": [], "image_pairs": []}
    rows_ = {"products": [{"product_id": "12", "product": "100g Pants", "price": "31.000000"}]}
    await execute(store, "UPDATE products SET on_hand = 4, reserved = 3 WHERE tenant_id = $1", store.id)
    source = shop(orders=listed, products=rows_, **{"orders/98": changed, "products/12": product | {"amount": "7"}})
    report = await run.run(source, store.public_id, since=now())
    assert {entity: count.changed for entity, count in report.counts.items() if count.changed} == {
        "products": 1,
        "orders": 1,
    }
    assert "orders/97" not in source.asked, "what did not change is not read"
    assert await of(store, "products", "id, price_cents, on_hand, reserved, slug") == [(12, 3100, 10, 3, "100g-pants")]
    assert await of(store, "product_images", "id, position") == [(823, 0)]
    assert await of(store, "feature_values", "id, 1") == []
    assert await of(store, "order_lines", "position, id, quantity", "order_id = 98") == [(1, 6, 4), (2, 1104482742, 1)]
    assert await of(store, "orders", "id, total_cents") == [(97, 67795), (98, 500)]


async def test_a_line_that_was_shipped_here_is_not_taken_away(new_store: Any) -> None:
    store = await new_store()
    await run.run(shop(), store.public_id)
    changed = order(98, total="5.00", products={"6": line("6", "12", 4, "1.25")})
    listed = {"orders": [row_of(changed)], "params": {"total_items": "1"}}
    report = await run.run(shop(orders=listed, **{"orders/98": changed}), store.public_id, since=now())
    assert ("orders", "98", "a line that the source no longer has was shipped here") in report.failures
    assert await value(store, "SELECT total_cents FROM orders WHERE tenant_id = $1 AND id = 98", store.id) == 67795


async def test_a_record_of_the_store_keeps_its_number(new_store: Any) -> None:
    store = await new_store()
    await execute(
        store,
        "INSERT INTO products (tenant_id, id, public_id, name, slug, price_cents) VALUES ($1, 12, vitrine_uuid7(), 'Own', 'own', 1)",
        store.id,
    )
    report = await run.run(shop(), store.public_id)
    assert ("products", "12", "another record of the store has the number 12") in report.failures
    assert await of(store, "products", "id, name") == [(12, "Own")]


BAD_VALUES = {
    "price": "gratis",
    "amount": {"a": 1},
    "weight": "1e999",
    "timestamp": "99999999999999",
    "product": "",
    "category_ids": ["x"],
    "main_category": "../1",
    "status": "Z",
    "free_shipping": "maybe",
    "full_description": "a\u0000b",
}


@pytest.mark.parametrize("name", BAD_VALUES)
async def test_a_record_with_an_unreadable_value_is_reported_and_not_written(new_store: Any, name: str) -> None:
    store = await new_store()
    answers = {
        "products": {"products": [PRODUCT | {name: BAD_VALUES[name]}, PRODUCT | {"product_id": "13", "seo_name": "x"}]}
    }
    report = await run.run(SavedShop(answers), store.public_id)
    assert [(entity, number) for entity, number, _ in report.failures] == [("products", "12")]
    assert await of(store, "products", "id, sku") == [(13, "U0012O5AF0")]


@pytest.mark.parametrize(
    "answer", [[], {}, {"products": None}, {"products": "none"}, {"products": [1, None, []]}, "x", 7]
)
async def test_a_list_that_is_none_brings_nothing(new_store: Any, answer: Any) -> None:
    store = await new_store()
    report = await run.run(SavedShop({"products": answer}), store.public_id)
    assert report.counts["products"].read == 0
    assert report.failures == []
