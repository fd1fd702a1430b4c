"""Create the menus of a demo store: the categories in its header, pages and links in its footer."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from server.demo.catalog import DemoCatalog
from server.demo.owner import DemoOwner

_FOOTER: Mapping[str, tuple[str, ...]] = {
    "A loja": ("Quem somos", "Diário do ateliê"),
    "Ajuda": ("Trocas e devoluções", "Prazos de entrega", "Fale conosco"),
}
_MAP = {"name": "No mapa", "target": {"link": "https://www.openstreetmap.org/"}}


async def create_menus(
    owner: DemoOwner, catalog: DemoCatalog, categories: Mapping[str, str], pages: Mapping[str, str], at: datetime
) -> None:
    """Create both, of categories by their key and pages by their name."""
    main = _categories_below(catalog, categories, None)
    footer = [
        {"name": heading, "items": [{"name": name, "target": {"page_id": pages[name]}} for name in names]}
        for heading, names in _FOOTER.items()
    ]
    await owner.create("menu", at, handle="main", name="Principal", items=main)
    await owner.create("menu", at, handle="footer", name="Rodapé", items=[*footer, _MAP])


def _categories_below(catalog: DemoCatalog, ids: Mapping[str, str], parent: str | None) -> list[dict[str, Any]]:
    return [
        {
            "name": category.name,
            "target": {"category_id": ids[category.key]},
            "items": _categories_below(catalog, ids, category.key),
        }
        for category in catalog.categories
        if category.parent == parent
    ]
