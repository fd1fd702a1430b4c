"""Create product options with combinations and an exception, attachments, boxes and required products."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import product as cartesian_product
from typing import Any

from server.demo.catalog import DemoCatalog
from server.demo.owner import DemoOwner

_FILES = "https://files.example.com/casa-ipe"


async def create_options(owner: DemoOwner, catalog: DemoCatalog, products: Sequence[str], at: datetime) -> None:
    """Create all of it for the products in the catalog; `products` are their ids, in order."""
    ids = {product.name: product_id for product, product_id in zip(catalog.products, products, strict=True)}
    for number, entry in enumerate(catalog.inventory_options, 1):
        await _create_combinations(owner, entry, ids[entry["product"]], f"OPC-{number}", at)
    for option in catalog.options:
        await owner.create("option", at, **_with_ids(option, ids))
    for attachment in catalog.attachments:
        url = f"{_FILES}/{attachment['filename']}"
        await owner.create("attachment", at, **_with_ids(attachment, ids), url=url)
    for name, required in catalog.required_products.items():
        product_ids = [ids[each] for each in required]
        await owner.execute("product_required_products_set", at, id=ids[name], product_ids=product_ids)
    for position, box in enumerate(catalog.boxes):
        values = {name: value for name, value in box.items() if name != "text"}
        box_id = await owner.create("product_box", at, **values, position=position)
        text = f"<p>{box['text']}</p>"
        await owner.create("box_description", at, box_id=box_id, title=box["name"], full_description=text)


def _with_ids(record: Mapping[str, Any], ids: Mapping[str, str]) -> dict[str, Any]:
    """Return the record with the ids of the products that it names."""
    values = dict(record)
    if "product" in values:
        values["product_id"] = ids[values.pop("product")]
    if "products" in values:
        values["product_ids"] = [ids[name] for name in values.pop("products")]
    return values


async def _create_combinations(
    owner: DemoOwner, entry: Mapping[str, Any], product_id: str, code: str, at: datetime
) -> None:
    """Create the options and all combinations of their variants, except the forbidden one."""
    variant_lists: list[list[dict[str, Any]]] = []
    for position, (name, variants) in enumerate(entry["options"].items()):
        values = {
            "name": name,
            "product_id": product_id,
            "position": position,
            "variants": [{"name": variant, "modifier": surcharge} for variant, surcharge in variants.items()],
        }
        option = await owner.execute("option_create", at, input=values)
        variant_lists.append([{**variant, "option_id": option["id"]} for variant in option["variants"]])
    combinations = []
    for index, variants_chosen in enumerate(cartesian_product(*variant_lists)):
        names = [variant["name"] for variant in variants_chosen]
        if names == entry.get("forbidden"):
            exception = {"product_id": product_id, "type": "F", "choices": _choices(variants_chosen)}
            await owner.create("option_exception", at, **exception)
            continue
        combinations.append(
            {
                "choices": _choices(variants_chosen),
                "sku": "-".join((code, *(name[:3].upper() for name in names))),
                "stock": 4 + 7 * index % 19,
                "position": index,
            }
        )
    await owner.execute("combination_batch_create", at, product_id=product_id, inputs=combinations)


def _choices(variants: Sequence[Mapping[str, Any]]) -> list[dict[str, str]]:
    return [{"option_id": variant["option_id"], "variant_id": variant["id"]} for variant in variants]
