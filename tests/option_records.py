"""Create options, a combination, an exception and boxes in the store of a test."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from domain.catalog import combinations, option_exceptions, options
from domain.catalog.attachments import ATTACHMENT_RECORDS
from domain.catalog.boxes import BOX_RECORDS, DESCRIPTION_RECORDS
from kernel.scope import Scope
from models.boxes import BoxDescription, ProductBox
from models.options import Combination, Option, OptionException, OptionVariant


async def create_option_records(scope: Scope, records: Mapping[str, Any]) -> dict[str, Any]:
    """Create the records through the domain in the store in scope."""
    # tests.shop imports this module.
    from tests.shop import Called, made

    mug = records["mug"].number
    size = await options.create_option(
        scope,
        {
            "name": "Tamanho",
            "product": mug,
            "variants": [{"name": "Pequena"}, {"name": "Grande", "modifier": 500}],
        },
    )
    print_ = await options.create_option(
        scope,
        {
            "name": "Estampa",
            "type": "R",
            "position": 1,
            "products": [mug],
            "variants": [{"name": "Lisa"}, {"name": "Poá", "modifier": 1_000, "modifier_type": "P"}],
        },
    )
    engraving = await options.create_option(
        scope, {"name": "Gravação", "type": "I", "product": mug, "position": 2}
    )
    small, large = await OptionVariant.filter(option_id=size).order_by("position")
    plain, dotted = await OptionVariant.filter(option_id=print_).order_by("position")
    combination = await combinations.create_combination(
        scope,
        {
            "product": mug,
            "choices": {size: large.id, print_: plain.id},
            "sku": "CAN-1-G",
            "stock": 3,
            "price_cents": 200,
        },
    )
    exception = await option_exceptions.create_exception(
        scope, {"product": mug, "type": "F", "choices": {size: small.id, print_: dotted.id}}
    )
    await ATTACHMENT_RECORDS.create(
        scope,
        {"product": mug, "filename": "cuidados.pdf", "url": "https://files.example.com/c.pdf", "filesize": 9},
    )
    box = await BOX_RECORDS.create(
        scope,
        {
            "name": "Caixa P",
            "height_mm": 105,
            "width_mm": 200,
            "length_mm": 300,
            "weight_grams": 150,
            "max_weight_grams": 5_000,
        },
    )
    bare_box = await BOX_RECORDS.create(scope, {"name": "Envelope"})
    description = await DESCRIPTION_RECORDS.create(scope, {"box": box, "title": "Caixa pequena"})
    row = await Combination.get(id=combination)
    return {
        "size": made(await Option.get(id=size)),
        "small": made(small),
        "large": made(large),
        "print": made(await Option.get(id=print_)),
        "plain": made(plain),
        "dotted": made(dotted),
        "engraving": made(await Option.get(id=engraving)),
        "combination": Called(row.id, str(row.public_id), row.hash),
        "exception": made(await OptionException.get(id=exception)),
        "box": made(await ProductBox.get(id=box)),
        "bare_box": made(await ProductBox.get(id=bare_box)),
        "box_description": made(await BoxDescription.get(id=description)),
    }
