"""The pictures of a catalog: which drawing, composition, size and format each record has."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from server.demo.catalog import DemoCatalog, DemoProduct
from server.demo.pictures import drawings, scenes
from server.demo.pictures.drawings import Drawing, product_drawing
from server.demo.pictures.scenes import Backdrop

Format = Literal["jpeg", "webp", "png"]


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture before it is rendered: `scale` multiplies the 1000 units of the drawing to pixels."""

    name: str
    svg: str
    scale: float
    format: Format = "jpeg"


_CLAY = Backdrop("#ead9ca", "#d9bfa8", "#f6ece2", "arch")
_SAGE = Backdrop("#d5ded6", "#bfccc1", "#e9efe9", "circle")
_SAND = Backdrop("#eadbc3", "#d6c09d", "#f7eee0", "window")
_LILAC = Backdrop("#e2dae6", "#c9bdd0", "#f2edf4", "hill")
_MIST = Backdrop("#d3dfe3", "#b9cad0", "#e9f1f3", "circle")
_ROSE = Backdrop("#ecd9d3", "#d9bdb4", "#f7ece8", "arch")
_NIGHT = Backdrop("#3d4a56", "#2f3a44", "#4b5a67", "circle")
_BACKDROPS: Mapping[str, tuple[Backdrop, ...]] = {
    "ceramica": (_SAND, _SAGE),
    "vasos": (_CLAY, _MIST),
    "mesa": (_MIST, _SAND, _SAGE),
    "texteis": (_SAGE, _MIST),
    "roupas": (_SAND, _ROSE, _MIST),
    "luz": (_NIGHT,),
    "papelaria": (_LILAC, _SAND),
    "cadernos": (_ROSE, _MIST),
    "bolsas": (_SAGE, _SAND, _MIST),
    "calcados": (_SAND, _SAGE),
    "cozinha": (_ROSE, _MIST, _CLAY),
    "cafes": (_SAND,),
    "queijos": (_MIST,),
    "conservas": (_ROSE, _SAGE),
}
_CATEGORY_DRAWINGS: Mapping[str, str] = {
    "ceramica": "Moringa Sertão",
    "vasos": "Vaso Jurema grande",
    "mesa": "Conjunto Agreste, 12 peças",
    "texteis": "Almofada Losango",
    "roupas": "Camiseta Igarapé",
    "luz": "Abajur Ninho",
    "papelaria": "Cartões Boas-novas, 8 unidades",
    "cadernos": "Caderno Capim",
    "bolsas": "Bolsa Tropeira",
    "calcados": "Botina Curral",
    "cozinha": "Pilão de goiabeira",
    "cafes": "Café Amanhecer",
    "queijos": "Queijo meia cura",
    "conservas": "Geleia de jabuticaba",
}
_BANNERS: Mapping[str, tuple[tuple[str, float, float], ...]] = {
    "casa_ipe": (
        ("Moringa Sertão", 1070, 0.72),
        ("Vaso Jurema grande", 1310, 0.86),
        ("Caneca Sereno", 1550, 0.46),
        ("Bolsa Tropeira", 1775, 0.58),
    ),
    "serra_alta": (
        ("Café Amanhecer", 1130, 0.68),
        ("Queijo canastra curado", 1450, 0.7),
        ("Geleia de jabuticaba", 1740, 0.6),
    ),
}
_COMPOSITIONS: tuple[tuple[str, float, Callable[[Drawing, Backdrop], str]], ...] = (
    ("", 1.6, scenes.product),
    (" (detalhe)", 1.28, scenes.close_up),
    (" (em uso)", 1.28, scenes.in_use),
)


def product_pictures(catalog: DemoCatalog, product: DemoProduct) -> tuple[Picture, ...]:
    """Return the pictures of a product, whose names describe them."""
    siblings = [each.name for each in catalog.products if each.category == product.category]
    backdrops = _BACKDROPS[product.category]
    backdrop = backdrops[siblings.index(product.name) % len(backdrops)]
    return tuple(
        Picture(product.name + suffix, compose(product_drawing(product.name), backdrop), scale)
        for suffix, scale, compose in _COMPOSITIONS[: product.images]
    )


def category_picture(key: str) -> Picture:
    """Return the picture of a category."""
    return Picture(key, scenes.category(product_drawing(_CATEGORY_DRAWINGS[key]), _BACKDROPS[key][0]), 0.8, "webp")


def logo(key: str) -> Picture:
    """Return the logo of a vendor."""
    return Picture(key, drawings.logo(key), 0.8, "png")


def store_logo(catalog: DemoCatalog) -> Picture:
    """Return the logo of a store."""
    return Picture(f"{catalog.name} logo", drawings.logo(catalog.name), 0.5, "png")


def banner(catalog: DemoCatalog) -> Picture:
    """Return the banner of a store's home page."""
    placed = [(product_drawing(product), x, scale) for product, x, scale in _BANNERS[catalog.name]]
    return Picture(catalog.name, scenes.banner(placed, _CLAY), 1, "webp")


def all_pictures(catalog: DemoCatalog) -> list[Picture]:
    """Return every picture of a store."""
    products = [picture for product in catalog.products for picture in product_pictures(catalog, product)]
    categories = [category_picture(category.key) for category in catalog.categories]
    logos = [logo(vendor.key) for vendor in catalog.vendors]
    return [*products, *categories, *logos, banner(catalog), store_logo(catalog)]
