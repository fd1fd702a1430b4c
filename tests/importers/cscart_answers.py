"""Answers of a CS-Cart shop in the shapes of its documentation: numbers as texts, empty arrays for maps, missing members."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from server.importers.cscart.source import SourceError
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

CHOICES = [
    {"option_id": "3", "option_type": "S", "option_name": "Size", "value": "12", "variant_name": "Small",
     "modifier": "1.500", "modifier_type": "A"},
    {"option_id": "99", "option_type": "I", "option_name": "Deleted", "value": "text", "variant_name": "text"},
]  # fmt: skip


def line(item: str, product: str, amount: int | str, price: str, **members: Any) -> dict[str, Any]:
    return {
        "item_id": item,
        "product_id": product,
        "product_code": "F0031LR44N",
        "price": price,
        "amount": amount,
        "extra": {
            "product_options": {"3": "12"},
            "product_options_value": CHOICES,
            "product": "T-shirt",
            "company_id": "1",
            "is_edp": "N",
        },
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
    "shipping_freight": "2.5",
    "shipping_params": 'a:3:{s:16:"max_items_in_box";i:1;s:10:"box_length";d:20.5;s:9:"box_width";s:2:"15";}',
    "box_height": 9,
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
    "usergroup_ids": "2,4",
    "prices": [
        {"product_id": "12", "price": "30.000000", "lower_limit": "1", "usergroup_id": "0"},
        {"product_id": "12", "price": "25.000000", "lower_limit": "10", "usergroup_id": "0"},
    ],
    "exceptions_type": "A",
    "qty_step": "2",
    "list_qty_count": "5",
    "low_avail_limit": "3",
    "avail_since": "1456917981",
    "out_of_stock_actions": "B",
    "zero_price_action": "P",
    "promo_text": "<b>Sale</b>",
    "popularity": "12",
    "sales_amount": "0.00",
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
        "826": {"pair_id": "826", "detailed": {"image_path": "/images/d.jpg"}, "position": "0"},
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
    "vendors/1": {"company_id": "1", "company": "Simtech",
        "company_description": "<p>Best</p>", "phone": "55 5555", "url": "shop.example", "shippings": "1,3",
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
    "categories/224": {"category_id": "224", "description": "<p>Pants</p>", "timestamp": "1328040000", "company_id": "1",
        "page_title": "Pants & more", "meta_keywords": "pants, jeans", "meta_description": "For all."},
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
        {"product_id": "12", "product_code": "L", "combination_hash": "2310967194", "combination": {"3": "13"}, "amount": "0",
         "box_length": "7.5", "shipping_freight": "1.20"},
    ],
    "exceptions?product_id=12": [
        {"exception_id": "1", "product_id": "12", "combination": {"3": "12", "4": "17"}},
        {"exception_id": "5", "product_id": "12", "combination": {"3": "13", "4": "-2"}},
        {"exception_id": "6", "product_id": "12", "combination": {"3": "-1"}},
        {"exception_id": "7", "product_id": "12", "combination": []},
    ],
    "pages": {"pages": [{"page_id": "2", "parent_id": "0", "page": "About us", "page_type": "T", "status": "H",
                         "lang_code": "en", "timestamp": "1328040000", "description": "<p>x</p>", "position": "10"}]},
    "orders": {"orders": [row_of(order(number)) for number in (97, 98, 99, 100, 101)], "params": {
        "page": 1, "items_per_page": "250", "total_items": "5"}},
    "orders/97": order(97, company="Sol", fax="+1 333", status_history=[
        {"timestamp": "1456917981", "status_from": "", "status": "X"},  # deleted since
        {"timestamp": "1456917982", "status_from": "X", "status": "O"}]),
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

    async def fetch(self, path: str, **query: object) -> Any:
        if path == "combinations" and "product_id" not in query:
            raise SourceError("status 400: Required field product_id is not specified")
        return await super().fetch(path, **query)


def shop(**changes: Any) -> PickyShop:
    answers = {name: answer for name, answer in deepcopy(SHOP).items() if answer is not ValueError}
    return PickyShop(answers | changes)
