"""Compare complete responses with the golden files in `tests/legacy/golden/`.

Values that differ between runs (ids, times, the client's address) become `<number>`, `<time>` and so on. After an intended change run
with VITRINE_ACCEPT=1 and review the diff before committing it.
"""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.harness.records import Record
from tests.harness.sample_store import SampleStore

pytestmark = pytest.mark.combination

GOLDEN = Path(__file__).parent / "golden"
ACCEPT = os.environ.get("VITRINE_ACCEPT") == "1"

PATHS = {
    "product": "products/{mug}",
    "product_list": "products?sort_by=product_id&sort_order=asc",
    "product_list_filtered": "products?q=caneca&status=active",
    "product_features": "products/{mug}/features",
    "product_discussions": "products/{mug}/discussions",
    "category_products": "categories/{kitchen}/products",
    "order": "orders/{shared_order}",
    "order_list": "orders?sort_by=order_id&sort_order=asc",
    "order_list_filtered": "orders?status[]=P&status[]=C&user_id=0",
    "user": "users/{caio}",
    "user_list": "users?user_type=vendor&sort_by=user_id",
    "user_usergroups": "users/{caio}/usergroups",
    "category": "categories/{kitchen}",
    "category_list": "categories?parent_id=0",
    "feature": "features/{colour}",
    "feature_list": "features",
    "variation_group": "product_variations_groups/{variations}",
    "variation_group_list": "product_variations_groups",
    "feature_list_filtered": "features?feature_type=select",
    "option": "options/{size}",
    "option_list": "options",
    "option_list_filtered": "options?option_type=R",
    "combination": "combinations/{combination}",
    "combination_list": "combinations",
    "combination_list_filtered": "combinations?product_id={mug}&amount=3",
    "product_combination": "2.0/products/{mug}/options/combinations/{combination.number}",
    "product_combination_list": "2.0/products/{mug}/options/combinations",
    "exception": "exceptions/{exception}",
    "exception_list": "exceptions",
    "exception_list_filtered": "exceptions?type=forbidden",
    "box": "productBoxes/{box}",
    "box_list": "productBoxes",
    "box_description": "productBoxesDescriptions/{box}",
    "box_description_list": "productBoxesDescriptions",
    "store": "stores/{vendor}",
    "store_list": "stores",
    "store_list_filtered": "vendors?status=active",
    "status": "statuses/{status_OP}",
    "status_list": "statuses?items_per_page=20",
    "status_list_filtered": "statuses?type=shipment&status=S",
    "page": "pages/{page}",
    "page_list": "pages",
    "page_list_filtered": "pages?status=active&page_type=form",
    "block": "blocks/{block}",
    "block_list": "blocks",
    "block_list_filtered": "blocks?type=banner",
    "cart": "carts/{cart}",
    "cart_list": "carts",
    "cart_list_filtered": "carts?total=99.80",
    "langvar": "langvars/{langvar}",
    "langvar_list": "langvars",
    "langvar_list_filtered": "langvars?name=text_welcome",
    "language": "languages/{language}",
    "language_list": "languages",
    "language_list_filtered": "languages?lang_code=pt",
    "setting": "settings/{setting}",
    "setting_list_filtered": "settings?name=legacy_lists",
    "subscriber": "subscribers/{subscriber}",
    "subscriber_list": "subscribers",
    "subscriber_list_filtered": "subscribers?email=Leitora%40example.com",
    "call_request": "call_requests/{call_request}",
    "call_request_list": "call_requests",
    "call_request_list_filtered": "call_requests?status=new",
    "usergroup": "usergroups/{team}",
    "usergroup_list": "usergroups",
    "usergroup_list_filtered": "usergroups?type=admin",
    "discussion": "discussions/{review}",
    "discussion_list": "discussions",
    "discussion_list_filtered": "discussions?object_type=product&rating_value=5",
    "warehouse": "warehouses/{warehouse}",
    "warehouse_list": "warehouses",
    "warehouse_list_filtered": "warehouses?zipcode=50010-000&status=disabled",
    "warehouse_areas": "warehouses/{warehouse}/delivery_areas",
    "warehouse_groups": "warehouses/{warehouse}/user_groups",
    "manager": "managers/{manager}",
    "manager_list": "managers",
    "manager_list_filtered": "managers?q=marcia&status=active",
    "payment_code_list": "payment_codes",
    "payment_code_list_filtered": "payment_codes?code=30/60",
    "business_partner": "business_partners/{partner}",
    "business_partner_list": "business_partners",
    "business_partner_list_filtered": "business_partners?manager_id={manager}",
    "mix_product_list": "mix_products",
    "mix_product_list_filtered": "mix_products?partner_id={partner}",
    "manager_transaction_list": "manager_transactions",
    "manager_transaction_list_filtered": "manager_transactions?type=credit",
    "payment": "payments/{pix}",
    "payment_list": "payments",
    "payment_list_filtered": "payments?processor_type=pagarme",
    "shipping": "shippings/{sedex}",
    "shipping_list": "shippings",
    "shipping_list_filtered": "shippings?status=active&rate_calculation=M",
    "destination": "destinations/{south}",
    "destination_list": "destinations",
    "destination_list_filtered": "destinations?states=PR",
    "tax": "taxes/{icms}",
    "tax_list": "taxes",
    "tax_list_filtered": "taxes?rate_value=18&address_type=shipping",
    "promotion": "promotions/{ten}",
    "promotion_list": "promotions",
    "promotion_list_filtered": "promotions?zone=cart&coupon_code=DEZ",
    "shipment": "shipments/{shipment}",
    "shipment_list": "shipments",
    "shipment_list_filtered": "shipments?status=shipped&carrier=Correios",
}
_PLACEHOLDERS = {
    "lang_id": "<language>",
    "item_id": "<line>",
    "thread_id": "<thread>",
    "ip_address": "<address>",
}
_IMAGE_IDS = ("pair_id", "detailed_id")


def normalize(value: Any, names: dict[str, dict[str, str]], key: str = "") -> Any:
    """Replace values that differ between runs by placeholders."""
    if key == "combination":
        return {
            placeholder(names, "option_id", option): placeholder(names, "option_variant_id", variant)
            for option, variant in value.items()
        }
    if isinstance(value, dict):
        is_pairs = key == "image_pairs"
        if any(isinstance(item, dict) and item.get("item_id") == inner for inner, item in value.items()):
            value = {f"<line {position}>": item for position, item in enumerate(value.values(), start=1)}
        return {
            "<pair>" if is_pairs else placeholder(names, id_key(key, value), inner): normalize(item, names, inner)
            for inner, item in value.items()
        }
    if isinstance(value, list):
        return [normalize(item, names, key) for item in value]
    if key.endswith("timestamp") or key in ("created_at", "updated_at"):
        return "<time>"
    if key in _IMAGE_IDS:
        return "<pair>"
    if key in _PLACEHOLDERS and value:
        return _PLACEHOLDERS[key]
    if isinstance(value, int) and placeholder(names, key, f"{value}") != f"{value}":
        return placeholder(names, key, f"{value}")  # ids of boxes, and some ids in CS-Cart's dialect, are integers
    if key == "id_path":
        return "/".join(placeholder(names, "category_id", number) for number in value.split("/"))
    return placeholder(names, key, value)


def id_key(collection: str, value: dict[str, Any]) -> str:
    """Return the id field whose values key the object; order lines are keyed by position."""
    if any("item_id" in item for item in value.values() if isinstance(item, dict)):
        return ""
    if collection == "products" and all(isinstance(item, str) for item in value.values()):
        return "item_id"  # shipment lines
    return {
        "products": "product_id",
        "orders": "order_id",
        "users": "user_id",
        "categories": "category_id",
        "usergroups": "usergroup_id",
        "pages": "page_id",
        "blocks": "block_id",
        "languages": "lang_code",
        "settings": "object_id",
        "carts": "user_id",
        "langvars": "langvar_id",
        "subscribers": "subscriber_id",
        "call_requests": "request_id",
        "statuses": "status_id",
        "payments": "payment_id",
        "shippings": "shipping_id",
        "destinations": "destination_id",
        "taxes": "tax_id",
        "promotions": "promotion_id",
        "stores": "company_id",
        "vendors": "company_id",
        "discussions": "post_id",
        "product_features": "feature_id",
        "shipments": "shipment_id",
        "warehouses": "warehouse_id",
        "managers": "manager_id",
        "payment_codes": "payment_code_id",
        "business_partners": "partner_id",
        "mix_products": "mix_product_id",
        "manager_transactions": "transaction_id",
        "variants": "variant_id",
        "features": "feature_id",
        "options": "option_id",
        "combinations": "combination_hash",
        "exceptions": "exception_id",
    }.get(collection, "")


ID_ALIASES = {
    "object_id": "product_id",
    "main_category": "category_id",
    "category_ids": "category_id",
    "parent_id": "category_id",
    "shipping_ids": "shipping_id",
}


def placeholder(names: dict[str, dict[str, str]], key: str, value: Any) -> Any:
    return names.get(ID_ALIASES.get(key, key), {}).get(value, value)


def placeholders(sample: SampleStore) -> dict[str, dict[str, str]]:
    records = {
        "product_id": "mug plate ebook secret",
        "category_id": "home kitchen hidden",
        "order_id": "order shared_order guest_order",
        "user_id": "owner staff vendor_user rival_vendor_user caio bia",
        "company_id": "vendor rival",
        "usergroup_id": "wholesale team",
        "feature_id": "colour material volume",
        "variant_id": "blue",
        "option_id": "size print engraving",
        "option_variant_id": "small large plain dotted",
        "combination_hash": "combination",
        "exception_id": "exception",
        "box_id": "box bare_box",
        "description_id": "box_description",
        "post_id": "review",
        "page_id": "about page draft_page",
        "block_id": "block",
        "subscriber_id": "subscriber",
        "request_id": "call_request",
        "status_id": "status_OO status_OP status_OC status_OB status_OD status_OF status_OI status_SP status_SA status_SS",
        "payment_id": "pix card",
        "shipping_id": "sedex",
        "warehouse_id": "warehouse depot",
        "area_id": "delivery_area",
        "destination_id": "south",
        "tax_id": "icms",
        "promotion_id": "ten",
        "shipment_id": "shipment",
        "lang_code": "language",
        "item_id": "shipped_line",
        "manager_id": "manager",
        "payment_code_id": "terms",
        "partner_id": "partner",
        "mix_product_id": "mix",
        "transaction_id": "transaction",
    }
    names = {
        field: {str(getattr(sample, name)): f"<{name}>" for name in words.split()} for field, words in records.items()
    }
    return names | {"combination_id": {str(sample.combination.number): "<combination>"}}


@pytest.fixture(scope="module", params=["contract", "cscart"])
async def form_and_sample(request, new_sample):
    """Return each form of lists with a store that uses it."""
    form = request.param
    return form, await new_sample(combination=True, **({} if form == "contract" else {"legacy_lists": form}))


@pytest.mark.parametrize("name", PATHS)
async def test_a_response_matches_its_golden_file(form_and_sample, name):
    form, sample = form_and_sample
    path = PATHS[name].format(**{key: value for key, value in sample.records.items() if isinstance(value, Record)})
    answer = await sample.get(f"/api/{path}")
    assert answer.status == 200
    # A list without an envelope has the keys of the collection its path ends with.
    collection = path.partition("?")[0].rpartition("/")[2]
    names = placeholders(sample)
    if name.startswith("option"):
        names["variant_id"] = names["option_variant_id"]
    if path.startswith("pages"):  # parents of pages are pages
        names["category_id"] = names["page_id"]
    if path.startswith("settings"):  # settings have no other id
        names["product_id"] = {str(sample.setting): "<setting>"}
    normalized = normalize(answer.body, names, "" if "params" in answer.body else collection)
    text = json.dumps(normalized, ensure_ascii=False, indent=2) + "\n"
    file = GOLDEN / f"{name}.{form}.json"
    if ACCEPT:
        file.write_text(text, encoding="utf-8")
    assert text == file.read_text(encoding="utf-8")
