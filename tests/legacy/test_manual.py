"""Send the calls of CS-Cart's public manual, with its requests, to a store in the dialect `cscart`.

Each page of the manual is a list of calls: method, path, status, the members of the answer that the manual shows, and the body. In paths,
`{name}` is a record of the store, and `{new}` the id that the call before has answered. What is not answered as documented is listed in
docs/reference/legacy.md#cs-carts-manual.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import pytest

from tests.harness.programs import ROOT
from tests.harness.sample_store import NewSampleStore, SampleStore

pytestmark = pytest.mark.combination

MISSING = 9_000_000_000_000


class Call(NamedTuple):
    """A documented call; a body that is a text is sent as `text/plain`."""

    method: str
    path: str
    status: int
    members: str = ""
    body: Any = None

    @property
    def name(self) -> str:
        return f"{self.method} {self.path}"


def get(path: str, members: str = "", status: int = 200) -> Call:
    return Call("GET", path, status, members)


def post(path: str, body: Any, members: str = "", status: int = 201) -> Call:
    return Call("POST", path, status, members, body)


def put(path: str, body: Any, members: str = "", status: int = 200) -> Call:
    return Call("PUT", path, status, members, body)


def delete(path: str, status: int = 204, body: Any = None) -> Call:
    return Call("DELETE", path, status, "", body)


def pages(path: str, members: str) -> list[Call]:
    return [
        get(path, members),
        get(f"{path}?page=5", members),
        get(f"{path}?items_per_page=20", members),
        get(f"{path}?page=5&items_per_page=20", members),
    ]


def lists(path: str, collection: str, **values: str) -> list[Call]:
    """Return the calls of a list with each documented value of each parameter: `status="A D"` are two."""
    return [
        get(f"{path}?{parameter}={value}", collection) for parameter, words in values.items() for value in words.split()
    ]


def sorted_lists(path: str, name: str, words: str) -> list[Call]:
    return [
        get(f"{path}?sort_by={word}&sort_order={order}", name) for word in words.split() for order in ("asc", "desc")
    ]


IGNORED = ("order_exists", "user_type")
"""Parameters of the manual's examples that do nothing here; the second is misspelt there."""
PERIODS = "A D LD W LW M LM Y LY HH HW HM"
PRODUCT = {"product": "Product Name", "category_ids": "{home}", "price": "1000"}
LINES = {"{ebook}": {"product_id": "{ebook}", "amount": "1"}, "{plate}": {"product_id": "{plate}", "amount": "2"}}
OWN_LINES = {"{ebook}": {"product_id": "{ebook}", "amount": "1"}}
GUEST = {
    "email": "guest@example.com",
    "firstname": "Guest",
    "lastname": "Guest",
    **{f"{part}_firstname": "Guest" for part in "bs"},
    **{f"{part}_city": "Boston" for part in "bs"},
    **{f"{part}_country": "US" for part in "bs"},
    **{f"{part}_zipcode": "02125" for part in "bs"},
    **{f"{part}_address": "44 Main street" for part in "bs"},
}
METHODS = {"payment_id": "{pix}", "shipping_id": "{sedex}"}
ICON = {"icon": {"image_path": {"1": "http://example.com/image1.jpg", "2": "http://example.com/image2.jpg"}}}
SHIRT = {"product": "Pants", "price": 150, "product_features": {"{colour}": "Red"}, "category_ids": ["{home}"]}
GROUP = {
    "product_ids": ["{mug}"],
    "code": "MY_GROUP_1",
    "features": [{"feature_id": "{colour}", "purpose": "group_catalog_item"}],
}

MANUAL: dict[str, Sequence[Call]] = {
    "overview": [
        get("api/products/{mug}", "product_id product price"),
        get("api/products/{mug}/features", "features params"),
        get("api/2/products", "products params"),
        get("api/2/products/{mug}", "product_id"),
        get("api/2/products/{mug}/features", "features"),
        get("api/2/products/{mug}/features/{colour}", "feature_id value"),
        get("api.php?_d=products&ajax_custom=1", "products params"),
        get("api.php?_d=products/{mug}&ajax_custom=1", "product_id"),
        get("api.php?_d=products/{mug}/features&ajax_custom=1", "features"),
        get("api.php?_d=products/{mug}/features/{colour}&ajax_custom=1", "feature_id"),
        get("api/products?free_shipping=N", "products"),
        get("api/products?is_edp=Y&company_id={vendor}", "products"),
        put("api/products/{mug}", {"product": "New Product Name"}, "product_id"),
        post("api/products", {"product": "My Awesome Product"}, "product_id"),
        delete("api/products/{new}"),
        get("api/users/", "users params"),
    ],
    "products": [
        *pages("api/products", "products params"),
        get(
            "api/products/{mug}", "product_id product category_ids main_category price company_id status amount weight"
        ),
        get(f"api/products/{MISSING}", status=404),
        get("api/categories/{home}/products/", "products params"),
        get("api/categories/{home}/products/{mug}", "product_id"),
        get("api/stores/{vendor}/products?pfull=Y&price_from=10&sort_by=product&sort_order=asc&q=foo", "products"),
        get("api/vendors/{vendor}/products?pname=Y&q=bar", "products"),
        *(get(f"api/products?{name}=Y&q=caneca", "products") for name in ("pname", "pshort", "pfull", "pkeywords")),
        *(get(f"api/products?{query}", "products") for query in ("pcode=X", "cid={home}", "cid={home}&subcats=Y")),
        *(
            get(f"api/products?{name}=10", "products")
            for name in ("amount_from", "amount_to", "price_from", "price_to")
        ),
        *(get(f"api/products?{query}", "products") for query in ("order_ids=1,13,24", "free_shipping=Y", "status=H")),
        *(
            get(f"api/products?sort_by={name}&sort_order=desc", "products")
            for name in ("status", "list_price", "product", "price", "code", "amount")
        ),
        post("api/products/", PRODUCT, "product_id"),
        put("api/products/{new}", {**PRODUCT, "amount": "10"}, "product_id"),
        put(
            "api/products/{new}",
            {
                "product": "Product Name",
                "main_pair": {
                    "pair_id": "0",
                    "image_id": "0",
                    "detailed_id": "0",
                    "position": "0",
                    "detailed": {"image_path": "https://example.com/image.jpg"},
                },
            },
            "product_id",
        ),
        delete("api/products/{new}/"),
        delete(f"api/products/{MISSING}", 404),
        post("api/stores/{vendor}/products/", PRODUCT, "product_id"),
        post("api/products/", {}, status=400),
    ],
    "product features": [
        *pages("api/features", "features params"),
        get("api/features/{colour}", "feature_id description feature_type variants status"),
        post(
            "api/features",
            {"company_id": "{vendor}", "feature_type": "C", "description": "Handmade", "status": "A"},
            "feature_id",
        ),
        put(
            "api/features/{new}",
            {"feature_type": "S", "comparison": "Y", "variants": [{"variant": "Unique"}, {"variant": "Mass-produced"}]},
            "feature_id",
        ),
        get(
            "api/features/{new}",
            "feature_id description feature_type comparison parent_id position prefix suffix variants",
        ),
        delete("api/features/{new}"),
        delete(f"api/features/{MISSING}", 404),
        *(
            post("api/features", {"company_id": "{vendor}", "feature_type": type_, "description": "New"}, "feature_id")
            for type_ in "MSNETODG"
        ),
        get("api/products/{mug}/features", "features"),
        post(
            "api/products",
            {**PRODUCT, "product_features": {"{material}": {"feature_type": "T", "value": "Test"}}},
            "product_id",
        ),
        put(
            "api/products/{new}",
            {"product_features": {"{material}": {"feature_type": "T", "value": "Feature updated"}}},
            "product_id",
        ),
    ],
    "options": [
        get("api/options/?product_id={mug}"),
        get("api/options/{print}", "option_id product_id company_id option_type inventory required status variants"),
        post(
            "api/options/",
            {
                "product_id": "{mug}",
                "option_name": "Packaging",
                "option_type": "R",
                "required": "Y",
                "inventory": "N",
                "main_pair": ICON,
                "variants": {
                    "1": {"variant_name": "None"},
                    "2": {"variant_name": "Gift wrap", "modifier_type": "A", "modifier": "5"},
                },
            },
            "option_id",
        ),
        put(
            "api/options/{new}",
            {
                "option_type": "S",
                "main_pair": ICON,
                "variants": {
                    "1": {"variant_name": "Gift wrap"},
                    "2": {"variant_name": "Present box", "modifier_type": "P", "modifier": "20"},
                },
            },
            "option_id",
        ),
        delete("api/options/{new}"),
        delete(f"api/options/{MISSING}", 404),
    ],
    "combinations": [
        get("api/combinations/?product_id={mug}"),
        get("api/combinations/?product_id={mug}&items_per_page=2&page=3"),
        get("api/combinations/?product_id={mug}&items_per_page=2"),
        post(
            "api/combinations/",
            {"product_id": "{mug}", "combination": {"{print}": "{dotted}"}, "amount": "34", "position": "10"},
            "combination_hash",
        ),
        get("api/combinations/{new}", "product_id product_code combination_hash combination amount position"),
        put("api/combinations/{new}", {"product_code": "Product 34214", "amount": "42", "position": "0"}),
        delete("api/combinations/{new}?product_id={mug}"),
        delete(f"api/combinations/{MISSING}?product_id={{mug}}", 404),
    ],
    "exceptions": [
        get("api/exceptions/?product_id={mug}"),
        post(
            "api/exceptions/",
            {"product_id": "{mug}", "combination": {"{print}": "{dotted}", "{size}": "-1"}},
            "exception_id",
        ),
        get("api/exceptions/{new}", "exception_id product_id combination"),
        put("api/exceptions/{new}", {"combination": {"{print}": "{plain}", "{size}": "-1"}}, "exception_id"),
        delete("api/exceptions/{new}?product_id={mug}"),
        delete(f"api/exceptions/{MISSING}?product_id={{mug}}", 404),
    ],
    "blocks": [
        get("api/blocks/"),
        get("api/blocks/{block}", "block_id type properties company_id lang_code name content"),
        post(
            "api/blocks/",
            {"type": "template", "name": "Example Template", "properties": {"template": "blocks/my_account_links.tpl"}},
            "block_id",
        ),
        put("api/blocks/{new}", {"type": "template", "name": "Example Template 2"}, "block_id"),
        delete("api/blocks/{new}"),
        post(
            "api/blocks/",
            {
                "type": "html_block",
                "name": "HTML Block Example",
                "properties": {"template": "blocks/html_block.tpl"},
                "content": {"content": "<p>Example text</p>"},
                "lang_code": "{language_code}",
            },
            "block_id",
        ),
        delete(f"api/blocks/{MISSING}", 404),
    ],
    "call requests": [
        get("api/2.0/call_requests/", "call_requests params"),
        get("api/2.0/call_requests?items_per_page=20", "call_requests"),
        get("api/2.0/call_requests?page=5&items_per_page=20&order_exists=N", "call_requests"),
        *(get(f"api/2.0/call_requests?{query}", "call_requests") for query in ("status=new", "name=x", "phone=1")),
        get("api/2.0/call_requests/{call_request}", "request_id phone name status timestamp time_from time_to notes"),
        post(
            "api/2.0/call_requests",
            {"phone": "+7(999)111-22-33", "name": "John Doe", "time_from": "9:00", "time_to": "10:00"},
            "request_id",
        ),
        put(
            "api/2.0/call_requests/{new}", {"status": "no_answer", "notes": "John didn't answer the call"}, "request_id"
        ),
        delete("api/2.0/call_requests/{new}"),
        delete(f"api/2.0/call_requests/{MISSING}", 404),
        post("api/2.0/call_requests", {"name": "John Doe"}, status=400),
    ],
    "carts": [
        get("api/carts/", "carts params"),
        get("api/carts/?items_per_page=20", "carts"),
        get("api/carts/?page=5&items_per_page=20&period=D&user_type=G", "carts"),
        *sorted_lists("api/2.0/carts", "carts", "customer date"),
        *lists(
            "api/2.0/carts",
            "carts",
            period=PERIODS,
            email="bia@example.com",
            user_id="{bia}",
            cname="Bia",
            users_type="R G",
            total_from="1",
            total_to="100",
            p_ids="1,2,3",
            with_info_only="true",
            product_type_c="true",
        ),
        get("api/2.0/carts?p_ids[]=1&p_ids[]=2", "carts"),
        get("api/2.0/carts?period=C&time_from=1&time_to=2000000000", "carts"),
        get("api/carts/{shopper}", "user_id products total"),
        delete("api/carts/{shopper}"),
        get("api/carts/{shopper}", status=404),
        delete("api/carts/{shopper}", 404),
    ],
    "categories": [
        *pages("api/categories", "categories params"),
        get("api/categories/{home}", "category_id category company_id status parent_id position product_count id_path"),
        get("api/categories/{home}/products", "products"),
        post("api/categories", {"category": "Shoes", "parent_id": "{home}", "status": "A"}, "category_id"),
        put("api/categories/{new}", {"category": "Boots", "position": "10"}, "category_id"),
        get("api/categories/{new}", "category_id category parent_id position seo_name timestamp id_path product_count"),
        delete("api/categories/{new}"),
        get("api/categories/{new}", status=404),
        get("api/categories/{home}/products/{mug}", "product_id"),
        post("api/categories", {"category": "Secret", "company_id": "{vendor}", "status": "H"}, "category_id"),
        put(
            "api/categories/{new}",
            {"page_title": "Title", "meta_keywords": "a, b", "meta_description": "Text", "seo_name": "secret-shoes"},
            "category_id",
        ),
        delete(f"api/categories/{MISSING}", 404),
    ],
    "discussions": [
        get("api/2.0/discussions/", "discussions params"),
        get("api/2.0/discussions?items_per_page=20", "discussions"),
        get("api/2.0/discussions?page=5&items_per_page=20&type=R", "discussions"),
        *sorted_lists("api/2.0/discussions", "discussions", "name timestamp status"),
        *lists(
            "api/2.0/discussions",
            "discussions",
            status="A D",
            name="Bia",
            message="x",
            type="C R B",
            rating_value="5",
            object_type="P C A O E",
            object_id="{mug}",
            period=PERIODS,
        ),
        get("api/2.0/discussions?period=C&time_from=1&time_to=2000000000", "discussions"),
        get("api/2.0/products/{mug}/discussions", "discussions"),
        get(
            "api/2.0/discussions/{review}", "post_id thread_id name message rating_value timestamp status user_id type"
        ),
        post(
            "api/2.0/discussions",
            {"object_type": "P", "object_id": "{ebook}", "name": "John Doe", "rating_value": 4, "message": "Hi"},
            "post_id",
        ),
        put("api/2.0/discussions/{new}", {"rating_value": 5, "message": "Changed", "status": "D"}, "post_id"),
        delete("api/2.0/discussions/{new}"),
        delete(f"api/2.0/discussions/{MISSING}", 404),
        post("api/2.0/products/{ebook}/discussions", {"name": "John", "message": "Hi"}, "post_id"),
        get("api/2.0/products/{ebook}/discussions/{new}", "post_id"),
        put("api/2.0/discussions/{new}", {"name": "Ann", "timestamp": "1456917981"}, "post_id"),
        put("api/2.0/products/{ebook}/discussions/{new}", {"message": "Hello"}, "post_id"),
        delete("api/2.0/products/{ebook}/discussions/{new}"),
    ],
    "languages": [
        get("api/languages/", "languages params"),
        get("api/languages/?page=2&items_per_page=2", "languages params"),
        get("api/languages/{language}/", "lang_id lang_code name status country_code direction"),
        get(f"api/languages/{MISSING}/", status=404),
        post(
            "api/languages/",
            {
                "lang_code": "ts",
                "name": "Test",
                "status": "A",
                "country_code": "US",
                "from_lang_code": "{language_code}",
            },
            "lang_id",
        ),
        put("api/languages/{new}/", {"lang_code": "ts", "name": "Test2", "country_code": "RU"}, "lang_id"),
        delete("api/languages/{new}/"),
    ],
    "language variables": [
        get("api/langvars/", "langvars params"),
        get("api/languages/{language}/langvars/", "langvars params"),
        get("api/langvars/?sl=en", "langvars"),
        get("api/langvars/?page=2&items_per_page=2", "langvars"),
        post("api/langvars/", {"name": "test_variable", "value": "The text"}, "name"),
        get("api/langvars/test_variable", "lang_code name value"),
        put("api/languages/{language}/langvars/test_variable/", {"value": "The changed text"}, "name"),
        get("api/languages/{language}/langvars/test_variable/", "lang_code name value"),
        put("api/langvars/test_variable/", {"value": "The changed text"}, "name"),
        get("api/langvars/test_variable/?sl={language_code}", "lang_code name value"),
        put("api/langvars/test_variable/?sl={language_code}", {"value": "Another"}, "name"),
        put("api/langvars/another_variable/", {"value": "Made by an update"}, "name"),
        delete("api/langvars/test_variable/"),
        get("api/langvars/test_variable", status=404),
        delete("api/langvars/test_variable/", 404),
        post("api/languages/{language}/langvars/", {"name": "third_variable", "value": "Text"}, "name"),
        post("api/langvars/?sl={language_code}", {"name": "fourth_variable", "value": "Text"}, "name"),
    ],
    "orders": [
        get("api/orders/", "orders params"),
        get("api/orders/?items_per_page=2", "orders params"),
        get("api/orders/?page=5&items_per_page=5&status=C", "orders"),
        get("api/orders/?email=customer@example.com&company_id={vendor}", "orders"),
        *lists("api/orders/", "orders", user_id="1", invoice_id="1", credit_memo_id="1", company_id="{vendor}"),
        *lists("api/orders/", "orders", status="P C O F D B I Y", email="customer@example.com"),
        *sorted_lists("api/orders/", "orders", "date"),
        get(
            "api/orders/{order}",
            "order_id is_parent_order status timestamp company_id user_id firstname lastname email phone ip_address lang_code total"
            " discount subtotal subtotal_discount payment_id payment_info payment_method payment_surcharge products shipping_ids"
            " shipping shipment_ids shipping_cost tax_subtotal taxes notes details s_address s_city b_address b_city",
        ),
        get(f"api/orders/{MISSING}", status=404),
        post("api/orders/", {"user_id": "{caio}", **METHODS, "products": LINES}, "order_id"),
        put("api/orders/{new}", {"products": {"{plate}": {"product_id": "{plate}", "amount": "1"}}}, "order_id"),
        put("api/orders/{new}", {"user_data": {"email": "customer@example.com", "b_firstname": "John"}}, "order_id"),
        put(
            "api/orders/{new}",
            {"status": "P", "notify_user": "1", "notify_department": "1", "notify_vendor": "1"},
            "order_id",
        ),
        delete("api/orders/{new}/"),
        post("api/orders/", {"user_id": "0", **METHODS, "products": LINES, "user_data": GUEST}, "order_id"),
        post("api/orders/", {**METHODS, "products": LINES, "user_data": GUEST}, "order_id"),
        post("api/stores/{vendor}/orders/", {"user_id": "{caio}", **METHODS, "products": OWN_LINES}, "order_id"),
        post(
            "api/stores/{vendor}/orders/",
            {"user_id": "0", **METHODS, "products": OWN_LINES, "user_data": GUEST},
            "order_id",
        ),
        post("api/orders/", {"products": {}}, status=400),
        put(f"api/orders/{MISSING}", {"status": "P"}, status=404),
        delete(f"api/orders/{MISSING}", 404),
    ],
    "pages": [
        get("api/2.0/pages", "pages params"),
        *(
            get(f"api/2.0/pages?{query}", "pages")
            for query in ("page=5", "items_per_page=20", "page=5&items_per_page=20")
        ),
        *lists(
            "api/2.0/pages",
            "pages",
            page_type="T L F B",
            q="x",
            status="A D H",
            parent_id="0",
            item_ids="1,2",
            get_tree="true plain",
            simple="true",
        ),
        *sorted_lists("api/2.0/pages", "pages", "position name timestamp"),
        get(
            "api/2.0/pages/{about}", "page_id company_id parent_id page_type page status timestamp description seo_name"
        ),
        post("api/2.0/pages", "page_type=T&page=Test Page&status=D&description=<p>This is a test page.</p>", "page_id"),
        put("api/2.0/pages/{new}", "status=A", "page_id"),
        put("api/2.0/pages/{new}", "status=H", "page_id"),
        put("api/2.0/pages/{new}", {"parent_id": "{about}", "seo_name": "test", "position": "3"}, "page_id"),
        delete("api/2.0/pages/{new}"),
        delete(f"api/2.0/pages/{MISSING}", 404),
        get(f"api/2.0/pages/{MISSING}", status=404),
        post("api/2.0/pages", {"page_type": "L", "page": "Link", "link": "https://example.com/"}, "page_id"),
        post("api/2.0/pages", {"page_type": "T"}, status=400),
    ],
    "variation groups": [
        get("api/product_variations_groups", "groups params"),
        post("api/product_variations_groups", GROUP, "group products_status"),
        get("api/product_variations_groups/MY_GROUP_1", "id code features products created_at updated_at"),
        get("api/product_variations_groups?product_ids={mug}&feature_ids={colour}", "groups"),
        get("api/product_variations_groups/MY_GROUP_1/product_variations", "products params"),
        get("api/product_variations_groups/MY_GROUP_1/product_variations/{mug}", "product_id variation_group_id"),
        post("api/product_variations_groups/MY_GROUP_1/product_variations", SHIRT, "product_id"),
        put("api/product_variations_groups/MY_GROUP_1", {"code": "MY_GROUP_NEW"}, "group"),
        get("api/product_variations", "products params"),
        get("api/products?has_variation_group=1", "products"),
        get("api/product_variations/{mug}", "product_id variation_group_code"),
        post("api/product_variations/{mug}/set_default_product_variation", {}),
        post(
            "api/product_variations/{mug}/generate_product_variations",
            {"combinations": [{"{colour}": "{green}"}]},
            "group products_status",
        ),
        post("api/product_variations/{mug}/detach_product_variation", {}),
        delete("api/product_variations_groups/MY_GROUP_NEW", body={}),
        put("api/product_variations/{mug}", {"amount": "10"}, "product_id"),
        delete("api/product_variations/{ebook}/"),
    ],
    "settings": [
        *pages("api/settings", "settings params"),
        get("api/settings/{setting}", "object_id name section_id type value description"),
        put("api/settings/legacy_vendor_keys", {"value": "Y"}),
    ],
    "shipments": [
        *pages("api/shipments", "shipments params"),
        get("api/shipments/{shipment}", "shipment_id order_id products shipping shipping_id carrier tracking_number"),
        post(
            "api/shipments",
            {
                "order_id": "{order}",
                "products": {"{order_line}": "1"},
                "shipping_id": "{sedex}",
                "tracking_number": "ABC",
                "carrier": "ups",
            },
            "shipment_id",
        ),
        put("api/shipments/{new}", {"comments": "Ring twice"}, "shipment_id"),
        delete("api/shipments/{new}"),
    ],
    "methods and taxes": [
        *(
            call
            for path, key, name, record in (
                ("payments", "payment_id", "payment", "pix"),
                ("shippings", "shipping_id", "shipping", "sedex"),
                ("taxes", "tax_id", "tax", "icms"),
            )
            for call in (
                *pages(f"api/{path}", f"{path} params"),
                get(f"api/{path}/{{{record}}}", f"{key} {name} status"),
                post(f"api/{path}", {name: "New"}, key),
                put(f"api/{path}/{{new}}", {name: "Newer"}, key),
                delete(f"api/{path}/{{new}}"),
            )
        ),
    ],
    "statuses": [
        *pages("api/statuses", "statuses params"),
        get("api/statuses/{status_OP}", "status_id status type description is_default params"),
        post("api/statuses", {"description": "Awaiting call", "type": "O", "status": "Y", "params": {}}, "status_id"),
        put("api/statuses/{new}", {"description": "Call"}, "status_id"),
        delete("api/statuses/{new}"),
    ],
    "stores": [
        get("api/stores/", "stores params"),
        get("api/stores/?page=2&items_per_page=2", "stores"),
        get("api/stores/?company=Simtech", "stores"),
        get("api/stores/?items_per_page=1", "stores"),
        *sorted_lists("api/stores/", "stores", "name timestamp"),
        get("api/stores/?timestamp=1269610461", "stores"),
        get(f"api/stores/{MISSING}", status=404),
        put(f"api/stores/{MISSING}", {"company": "Example"}, status=404),
        get("api/stores/{vendor}", "company_id email company timestamp status"),
        post(
            "api/stores/",
            {"company": "Example Company", "storefront": "example.com", "redirect_customer": "Y"},
            "store_id",
        ),
        put("api/stores/{new}/", {"company": "Example", "storefront": "example.com/store"}, "store_id"),
        delete("api/stores/{new}"),
        delete(f"api/stores/{MISSING}", 404),
    ],
    "vendors": [
        get("api/vendors/", "vendors params"),
        get("api/vendors/?page=2&items_per_page=2", "vendors"),
        get("api/vendors/?email=vendor@example.com", "vendors"),
        *(get(f"api/vendors/?status={letter}", "vendors") for letter in "NAPD"),
        *sorted_lists("api/vendors/", "vendors", "name timestamp email status"),
        *lists("api/vendors/", "vendors", timestamp="1269610461", company="Simtech"),
        get(f"api/vendors/{MISSING}", status=404),
        put(f"api/vendors/{MISSING}", {"company": "Example"}, status=404),
        post("api/vendors/", {"storefront": "api"}, status=400),
        get("api/vendors/{vendor}", "company_id email company timestamp status seo_name average_rating"),
        post(
            "api/vendors/",
            {
                "company": "New Vendor",
                "storefront": "example.com",
                "status": "N",
                "email": "test_vendor@example.com",
                "phone": "555555555",
                "url": "http://example.com",
                "address": "Boston street",
                "city": "Boston",
                "state": "MA",
                "country": "US",
                "shippings": {"1": "1", "2": "3"},
                "commission": "10.55",
                "commission_type": "A",
            },
            "store_id",
        ),
        put(
            "api/vendors/{new}/",
            {"company": "Example", "email": "test@example.com", "shippings": {"1": "1"}, "commission": "0"},
            "store_id",
        ),
        delete("api/vendors/{new}"),
        delete(f"api/vendors/{MISSING}", 404),
    ],
    "usergroups": [
        get("api/usergroups"),
        get("api/usergroups?status=A"),
        get("api/usergroups?status=D&type=C"),
        *lists("api/usergroups", "", type="A C", status="H D"),
        get(f"api/usergroups/{MISSING}", status=404),
        get("api/usergroups/{wholesale}", "usergroup_id type status usergroup privileges"),
        post("api/usergroups", "type=C&status=D&usergroup=Managers", "usergroup_id"),
        put("api/usergroups/{new}", "type=C&status=A", "usergroup_id"),
        put("api/users/{bia}/usergroups/{new}", "status=A"),
        get("api/users/{bia}/usergroups"),
        put("api/users/{bia}/usergroups/{wholesale}", "status=F"),
        delete("api/users/{bia}/usergroups/{wholesale}"),
        delete(f"api/usergroups/{MISSING}", 404),
    ],
    "users": [
        *pages("api/users", "users params"),
        get(
            "api/users/{caio}", "user_id email user_type company_id status firstname lastname company is_root timestamp"
        ),
        post(
            "api/users",
            {"email": "new@example.com", "user_type": "C", "company_id": "0", "status": "A"},
            "user_id profile_id",
        ),
        put("api/users/{new}", {"firstname": "John"}, "user_id"),
        delete("api/users/{new}"),
        post("api/auth", {"email": "{owner_email}"}, "key link"),
        post("api/auth", {"email": "nobody@example.com"}, status=404),
    ],
}
"""The pages of the manual with their calls."""


def filled(value: Any, places: dict[str, Any]) -> Any:
    if isinstance(value, dict):
        return {filled(key, places): filled(item, places) for key, item in value.items()}
    if isinstance(value, list):
        return [filled(item, places) for item in value]
    return value.format_map(places) if isinstance(value, str) else value


async def answer(call: Call, sample: SampleStore, places: dict[str, Any]) -> str:
    """Send a call; return how its answer differs from the documented one, and remember the id that it answers."""
    options = {"json": filled(call.body, places)}
    if isinstance(call.body, str):
        options = {"data": call.body, "headers": {"Content-Type": "text/plain"}}
    response = await sample.request(call.method, f"/{filled(call.path, places)}", **options)
    if response.status != call.status:
        return f"{call.name}: {response.status} {response.raw[:200]!r}"
    shown = response.body if isinstance(response.body, dict) else {}
    ignored = set(response.headers.get("X-Ignored-Parameters", "").split(", ")) - {"", *IGNORED}
    if ignored:
        return f"{call.name}: ignores {', '.join(sorted(ignored))}"
    absent = set(call.members.split()) - set(shown)
    if call.method == "POST" and shown:
        places["new"] = next(iter(response.body.values()))
    return f"{call.name}: no {', '.join(sorted(absent))}" if absent else ""


@pytest.mark.parametrize("page", MANUAL)
async def test_the_calls_of_the_manual_are_answered_as_documented(page: str, new_sample: NewSampleStore) -> None:
    sample = await new_sample(combination=True, legacy_lists="cscart")
    variant = await sample.put(
        f"/api/features/{sample.colour}", {"variants": [{"variant": "Azul"}, {"variant": "Red"}, {"variant": "Green"}]}
    )
    assert variant.status == 200, variant.raw
    variants = (await sample.get(f"/api/features/{sample.colour}")).body["variants"].values()
    owner = (await sample.get(f"/api/users/{sample.owner}")).body["email"]
    stocked = await sample.put(f"/api/products/{sample.plate}", {"amount": 50})
    assert stocked.status == 200, stocked.raw
    carts = (await sample.get("/api/carts")).body["carts"]
    languages = (await sample.get("/api/languages")).body["languages"].values()
    places = {
        **sample.records,
        **{name: record.number for name, record in sample.records.items() if hasattr(record, "number")},
        "green": next(row["variant_id"] for row in variants if row["variant"] == "Green"),
        "new": MISSING,
        "owner_email": owner,
        "shopper": carts[0]["user_id"],
        "language_code": next(iter(languages))["lang_code"],
    }
    differences = [difference for call in MANUAL[page] if (difference := await answer(call, sample, places))]
    assert differences == [], page


def test_the_reference_says_how_many_calls_are_answered() -> None:
    text = (ROOT / "docs" / "reference" / "legacy.md").read_text(encoding="utf-8")
    assert f"answers {sum(map(len, MANUAL.values()))} calls" in text
