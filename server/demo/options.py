"""Create product options with combinations and an exception, attachments, boxes and required products.

No option is mandatory, so every product can still be ordered without options; one product requires another.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import product as cartesian_product
from typing import Any

from server.demo.catalog import DemoCatalog
from server.demo.owner import DemoOwner

_SIZES = (("P", 0), ("M", 0), ("G", 0), ("GG", 500))
_WRAPPED = ("Caneca Sereno", "Vaso Jurema", "Manta Geada", "Carteira Troco", "Caderno Capim")
_FILES = "https://files.example.com/casa-ipe"


@dataclass(frozen=True, slots=True)
class DemoOptions:
    """The options of a product: by name, each variant with its surcharge in cents; the `forbidden` combination is an exception."""

    product: str
    options: Mapping[str, Sequence[tuple[str, int]]]
    forbidden: tuple[str, ...] = ()


_PRODUCT_OPTIONS = (
    DemoOptions(
        "Camiseta Cordel", {"Tamanho": _SIZES, "Cor": (("Natural", 0), ("Preta", 300))}, forbidden=("GG", "Preta")
    ),
    DemoOptions("Camiseta Igarapé", {"Tamanho": _SIZES}),
    DemoOptions("Camisa Brisa", {"Tamanho": _SIZES, "Cor": (("Areia", 0), ("Branca", 0))}),
    DemoOptions("Alpargata Mandioca", {"Numeração": tuple((str(size), 0) for size in range(34, 45, 2))}),
)
_ATTACHMENTS = (
    ("Panela de barro 3 litros", "Como curar a panela", "cura-da-panela.pdf", 182_340),
    ("Camiseta Cordel", "Tabela de medidas", "medidas.pdf", 64_211),
    ("Manta Geada", "Cuidados com a manta", "cuidados.pdf", 90_877),
)
# Metal spoons would scratch the clay.
_REQUIRED_PRODUCTS = (("Panela de barro 3 litros", "Colheres de pau, trio"),)
_BOXES = (
    ("Caixa P", 100, 160, 220, 120, 3_000, "Para canecas, carteiras e outras peças pequenas."),
    ("Caixa M", 200, 270, 360, 310, 10_000, "Para vasos, pratos e roupas."),
    ("Caixa G", 400, 450, 600, 780, 25_000, "Para luminárias e conjuntos."),
)


async def create_options(owner: DemoOwner, catalog: DemoCatalog, products: Sequence[str], at: datetime) -> None:
    """Create all of it for the products in the catalog; `products` are their ids, in order."""
    ids = {product.name: product_id for product, product_id in zip(catalog.products, products, strict=True)}
    for index, product_options in enumerate(_PRODUCT_OPTIONS):
        if product_options.product in ids:
            await _create_product_options(owner, product_options, ids[product_options.product], f"OPC-{index + 1}", at)
    wrapped = [ids[name] for name in _WRAPPED if name in ids]
    if not wrapped:
        return
    await owner.create(
        "option",
        at,
        name="Embalagem para presente",
        type="C",
        inventory=False,
        position=9,
        product_ids=wrapped,
        variants=[{"name": "Caixa com laço", "modifier": 990}],
    )
    await owner.create("option", at, name="Gravação na capa", type="I", product_id=ids["Caderno Capim"])
    art = {"allowed_extensions": "jpg,png,pdf", "max_file_size": 5_120}
    await owner.create("option", at, name="Arte para a capa", type="F", product_id=ids["Caderno Capim"], **art)
    for name, description, filename, filesize in _ATTACHMENTS:
        file = {"filename": filename, "url": f"{_FILES}/{filename}", "filesize": filesize}
        await owner.create("attachment", at, product_id=ids[name], description=description, **file)
    for name, required in _REQUIRED_PRODUCTS:
        await owner.execute("product_required_products_set", at, id=ids[name], product_ids=[ids[required]])
    await _create_boxes(owner, at)


async def _create_product_options(
    owner: DemoOwner, product_options: DemoOptions, product_id: str, code: str, at: datetime
) -> None:
    """Create the options and all combinations of their variants, except the forbidden one."""
    variant_lists: list[list[dict[str, Any]]] = []
    for position, (name, variants) in enumerate(product_options.options.items()):
        values = {
            "name": name,
            "product_id": product_id,
            "position": position,
            "variants": [{"name": variant, "modifier": surcharge} for variant, surcharge in variants],
        }
        option = await owner.execute("option_create", at, input=values)
        variant_lists.append([{**variant, "option_id": option["id"]} for variant in option["variants"]])
    combinations = []
    for index, variants_chosen in enumerate(cartesian_product(*variant_lists)):
        names = tuple(variant["name"] for variant in variants_chosen)
        if names == product_options.forbidden:
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


async def _create_boxes(owner: DemoOwner, at: datetime) -> None:
    names = ("name", "height_mm", "width_mm", "length_mm", "weight_grams", "max_weight_grams")
    for position, (*values, text) in enumerate(_BOXES):
        box = await owner.create("product_box", at, **dict(zip(names, values, strict=True)), position=position)
        await owner.create("box_description", at, box_id=box, title=values[0], full_description=f"<p>{text}</p>")
