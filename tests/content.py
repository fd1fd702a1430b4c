"""Furnish a test's shop with what it says of itself: a language of its own, pages, a block, a subscriber, a request to be called."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

from models.content import Block, CallRequest, Language, Page, Subscriber


async def furnish_content(found: Mapping[str, Any]) -> dict[str, Any]:
    """Write the rows into the store in scope and give them by name."""
    # A language that no other shop has, for addresses name languages by their code.
    code = "qx-" + "".join(random.choices("bcdfghjklmnp", k=8))
    about = await Page.create(name="Quem somos", description="<p>Oi</p>", lang_code="pt")
    return {
        "tongue": await Language.create(code=code, name="Língua", status="D"),
        "about": about,
        "page": await Page.create(name="Contato", parent_id=about.id, type="F", position=1, lang_code="pt"),
        "draft_page": await Page.create(name="Rascunho", status="D", position=2, lang_code="pt"),
        "block": await Block.create(
            type="banner", name="Topo", content={"text": "Frete grátis"}, lang_code="pt"
        ),
        "subscriber": await Subscriber.create(email="leitora@example.com", lang_code="pt"),
        "call_request": await CallRequest.create(
            name="Bia", phone="81988880000", product_id=found["mug"].number
        ),
    }
