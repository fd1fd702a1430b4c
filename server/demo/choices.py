"""Let buyers of a demo store choose: sizes and colours with combinations, a shared wrapping; and add files, boxes, what goes together.

Nothing here has to be chosen, so that every product can still be ordered as it is; one product is sold only together with another.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import product as every
from typing import Any

from server.demo.acting import StoreOwner
from server.demo.assortment import DemoCatalog

_SIZES = (("P", 0), ("M", 0), ("G", 0), ("GG", 500))
_WRAPPED = ("Caneca Sereno", "Vaso Jurema", "Manta Geada", "Carteira Troco", "Caderno Capim")
_FILES = "https://files.example.com/casa-ipe"


@dataclass(frozen=True, slots=True)
class Choosing:
    """Say what is chosen of a product: options by name, each variant with what it adds in cents; `barred` can't be had together."""

    product: str
    options: Mapping[str, Sequence[tuple[str, int]]]
    barred: tuple[str, ...] = ()


_CHOICES = (
    Choosing(
        "Camiseta Cordel",
        {"Tamanho": _SIZES, "Cor": (("Natural", 0), ("Preta", 300))},
        barred=("GG", "Preta"),
    ),
    Choosing("Camiseta Igarapé", {"Tamanho": _SIZES}),
    Choosing("Camisa Brisa", {"Tamanho": _SIZES, "Cor": (("Areia", 0), ("Branca", 0))}),
    Choosing("Alpargata Mandioca", {"Numeração": tuple((str(size), 0) for size in range(34, 45, 2))}),
)
_ATTACHMENTS = (
    ("Panela de barro 3 litros", "Como curar a panela", "cura-da-panela.pdf", 182_340),
    ("Camiseta Cordel", "Tabela de medidas", "medidas.pdf", 64_211),
    ("Manta Geada", "Cuidados com a manta", "cuidados.pdf", 90_877),
)
# Metal spoons scratch it.
_TOGETHER = (("Panela de barro 3 litros", "Colheres de pau, trio"),)
_BOXES = (
    ("Caixa P", 100, 160, 220, 120, 3_000, "Para canecas, carteiras e outras peças pequenas."),
    ("Caixa M", 200, 270, 360, 310, 10_000, "Para vasos, pratos e roupas."),
    ("Caixa G", 400, 450, 600, 780, 25_000, "Para luminárias e conjuntos."),
)


async def offer(owner: StoreOwner, shop: DemoCatalog, products: Sequence[str], at: datetime) -> None:
    """Make all of it for the products that the shop has; `products` are their ids, in the shop's order."""
    ids = {product.name: made for product, made in zip(shop.products, products, strict=True)}
    for place, choosing in enumerate(_CHOICES):
        if choosing.product in ids:
            await _choose(owner, choosing, ids[choosing.product], f"OPC-{place + 1}", at)
    wrapped = [ids[name] for name in _WRAPPED if name in ids]
    if not wrapped:
        return
    wrapping = {
        "name": "Embalagem para presente",
        "type": "C",
        "inventory": False,
        "position": 9,
        "product_ids": wrapped,
        "variants": [{"name": "Caixa com laço", "modifier": 990}],
    }
    await owner.do("DemoOption", at, input=wrapping)
    engraving = {"name": "Gravação na capa", "type": "I", "product_id": ids["Caderno Capim"]}
    await owner.do("DemoOption", at, input=engraving)
    for name, description, filename, filesize in _ATTACHMENTS:
        given = {
            "product_id": ids[name],
            "description": description,
            "filename": filename,
            "url": f"{_FILES}/{filename}",
            "filesize": filesize,
        }
        await owner.do("DemoAttachment", at, input=given)
    for name, required in _TOGETHER:
        await owner.do("DemoRequiredProducts", at, id=ids[name], product_ids=[ids[required]])
    await _pack(owner, at)


async def _choose(owner: StoreOwner, choosing: Choosing, product_id: str, code: str, at: datetime) -> None:
    """Make the options, and a combination of each variant with each, all but those that are barred."""
    offered: list[list[dict[str, Any]]] = []
    for position, (name, variants) in enumerate(choosing.options.items()):
        given = {
            "name": name,
            "product_id": product_id,
            "position": position,
            "variants": [{"name": variant, "modifier": added} for variant, added in variants],
        }
        option = await owner.do("DemoOption", at, input=given)
        offered.append([{**variant, "option_id": option["id"]} for variant in option["variants"]])
    combinations = []
    for place, chosen in enumerate(every(*offered)):
        names = tuple(variant["name"] for variant in chosen)
        if names == choosing.barred:
            exception = {"product_id": product_id, "type": "F", "choices": _choices(chosen)}
            await owner.do("DemoException", at, input=exception)
            continue
        combinations.append(
            {
                "choices": _choices(chosen),
                "sku": "-".join((code, *(name[:3].upper() for name in names))),
                "stock": 4 + 7 * place % 19,
                "position": place,
            }
        )
    await owner.do("DemoCombinations", at, product_id=product_id, inputs=combinations)


def _choices(chosen: Sequence[Mapping[str, Any]]) -> list[dict[str, str]]:
    return [{"option_id": variant["option_id"], "variant_id": variant["id"]} for variant in chosen]


async def _pack(owner: StoreOwner, at: datetime) -> None:
    for position, (name, height, width, length, weight, most, text) in enumerate(_BOXES):
        given = {
            "name": name,
            "height_mm": height,
            "width_mm": width,
            "length_mm": length,
            "weight_grams": weight,
            "max_weight_grams": most,
            "position": position,
        }
        box = await owner.do("DemoBox", at, input=given)
        description = {"box_id": box["id"], "title": name, "full_description": f"<p>{text}</p>"}
        await owner.do("DemoBoxDescription", at, input=description)
