"""Create content in the store of a test: a language, pages, a block, a subscriber, a call request."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

from models.content import Block, CallRequest, Language, Page, Subscriber


def language_code() -> str:
    """Return a language code unique across stores: routes identify languages by code."""
    return "qx-" + "".join(random.choices("bcdfghjklmnp", k=8))


async def create_content_records(records: Mapping[str, Any]) -> dict[str, Any]:
    """Insert the rows into the store in scope and return them by name."""
    about = await Page.create(name="Quem somos", description="<p>Oi</p>", lang_code="pt")
    return {
        "language": await Language.create(code=language_code(), name="Língua", status="D"),
        "about": about,
        "page": await Page.create(name="Contato", parent_id=about.id, type="F", position=1, lang_code="pt"),
        "draft_page": await Page.create(name="Rascunho", status="D", position=2, lang_code="pt"),
        "block": await Block.create(
            type="banner", name="Topo", content={"text": "Frete grátis"}, lang_code="pt"
        ),
        "subscriber": await Subscriber.create(email="leitora@example.com", lang_code="pt"),
        "call_request": await CallRequest.create(
            name="Bia", phone="81988880000", product_id=records["mug"].number
        ),
    }
