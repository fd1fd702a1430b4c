"""Assemble what can be asked and done about options, combinations, exceptions, attachments, required products and boxes."""

from __future__ import annotations

from typing import Any

import strawberry
from strawberry import Info

from auth.access import Access
from domain.catalog import attachments, boxes, combinations, option_exceptions, options
from domain.catalog.offered import find_owner
from domain.catalog.read import PRODUCTS
from domain.catalog.read_options import (
    ATTACHMENTS,
    BOX_DESCRIPTIONS,
    BOXES,
    COMBINATIONS,
    OPTION_EXCEPTIONS,
    OPTIONS,
)
from models import reading
from models.reading import Column, Selection, named
from resolvers.changes import DeletedRecord, deleted, renamed, shown, words
from resolvers.reads import reads
from resolvers.writes import Writer, writes
from schema.fields import root
from schema.inputs.options import (
    AttachmentInput,
    BoxDescriptionInput,
    CombinationInput,
    OptionExceptionInput,
    OptionInput,
    ProductBoxInput,
)
from schema.scalars import BigInt, Ident
from schema.selection import selection_below
from schema.types.catalog import ProductObject
from schema.types.options import (
    AttachmentObject,
    BoxDescriptionObject,
    CombinationObject,
    OptionExceptionObject,
    OptionObject,
    ProductBoxObject,
)

_WRITE = Access(
    privileges=("manage_catalog",),
    app_scope="write_products",
    vendor=True,
    note="A vendor writes its own only.",
)
_WRITE_BOXES = Access(privileges=("manage_catalog",), app_scope="write_products")
_READ_HASHES = Access(privileges=("view_catalog",), vendor=True)

_OPTION_WORDS = {"product_id": "product", "product_ids": "products", "vendor_id": "vendor"}
_PRODUCT_WORDS = {"product_id": "product"}

OPTION_WRITER = Writer(
    create=options.create_option,
    update=options.update_option,
    delete=options.delete_option,
    access=_WRITE,
    words=_OPTION_WORDS,
    texts=(
        "Make an option of a product, or one that several share.",
        "Change an option. Variants left out are deleted, and with them the combinations that hold them.",
        "Delete an option, and with it the combinations and exceptions that hold it.",
    ),
)
ATTACHMENT_WRITER = Writer(
    create=attachments.create_attachment,
    update=attachments.update_attachment,
    delete=attachments.delete_attachment,
    access=_WRITE,
    words=_PRODUCT_WORDS,
    texts=("Attach a file to a product.", "Change an attachment.", "Take an attachment away."),
)
BOX_WRITER = Writer(
    create=boxes.create_box,
    update=boxes.update_box,
    delete=boxes.delete_box,
    access=_WRITE_BOXES,
    texts=("Make a box.", "Change a box.", "Delete a box, and what is said of it."),
)
DESCRIPTION_WRITER = Writer(
    create=boxes.create_description,
    update=boxes.update_description,
    delete=boxes.delete_description,
    access=_WRITE_BOXES,
    words={"box_id": "box"},
    texts=("Describe a box in a language.", "Change a description.", "Delete a description."),
)


def _with_choices(input: Any) -> dict[str, Any]:
    """Give an input whose choices are a mapping of options to variants, as the domain takes them."""
    given = renamed(input, _PRODUCT_WORDS)
    if given.get("choices") is not None:
        given["choices"] = {choice["option_id"]: choice["variant_id"] for choice in given["choices"]}
    return given


@strawberry.type
class CombinationQueries:
    """What facades ask for by the legacy layer's names."""

    @root(_READ_HASHES, "One combination by its hash.", internal=True)
    async def combination_called(
        self, info: Info, hash: str, product_id: Ident | None = None
    ) -> CombinationObject | None:
        """Find a combination by its hash."""
        found = await combinations.combination_called(info.context.scope, hash, product_id)
        return await shown(info, COMBINATIONS, found)

    @root(_READ_HASHES, "The legacy number of a product that combinations may be asked of.", internal=True)
    async def combination_owner(self, info: Info, product_id: Ident) -> BigInt | None:
        """Find a product by whatever names it."""
        owner = await find_owner(info.context.scope, product_id)
        return None if owner is None else BigInt(owner.id)


@strawberry.type
class CombinationMutations:
    """What can be done with combinations, exceptions and required products."""

    @root(_WRITE, "Make a combination of variants of a product's options.")
    async def combination_create(self, info: Info, input: CombinationInput) -> CombinationObject | None:
        """Make a combination."""
        with words(_PRODUCT_WORDS):
            made = await combinations.create_combination(info.context.scope, _with_choices(input))
        return await shown(info, COMBINATIONS, made)

    @root(_WRITE, "Make up to 500 combinations of a product, all or none; in the order given.")
    async def combination_batch_create(
        self, info: Info, product_id: Ident, inputs: list[CombinationInput]
    ) -> list[CombinationObject]:
        """Make many combinations."""
        scope = info.context.scope
        made = await combinations.create_combinations(
            scope, product_id, [_with_choices(given) for given in inputs]
        )
        order = {each.id: place for place, each in enumerate(made)}
        wanted = selection_below(info)
        keyed = Selection(wanted.entity, (*wanted.columns, Column("@number", "t.id")), wanted.children)
        found = await reading.many(scope, keyed, conditions=[named(list(order))], limit=len(order))
        return sorted(found, key=lambda row: order[row["@number"]])  # type: ignore[arg-type, index, return-value]

    @root(_WRITE, "Change a combination; one that is not of `product_id`, where that is said, isn't there.")
    async def combination_update(
        self, info: Info, id: Ident, input: CombinationInput, product_id: Ident | None = None
    ) -> CombinationObject | None:
        """Change a combination."""
        with words(_PRODUCT_WORDS):
            changed = await combinations.update_combination(
                info.context.scope, id, _with_choices(input), product=product_id
            )
        return await shown(info, COMBINATIONS, changed)

    @root(_WRITE, "Delete a combination; orders that hold it give their units back all the same.")
    async def combination_delete(
        self, info: Info, id: Ident, product_id: Ident | None = None
    ) -> DeletedRecord:
        """Delete a combination."""
        await combinations.delete_combination(info.context.scope, id, product=product_id)
        return deleted(id)

    @root(_WRITE, "Change the combination that a hash names.", internal=True)
    async def combination_called_update(
        self, info: Info, hash: str, input: CombinationInput, product_id: Ident | None = None
    ) -> CombinationObject | None:
        """Change a combination by its hash."""
        scope = info.context.scope
        with words(_PRODUCT_WORDS):
            found = await combinations.combination_called(scope, hash, product_id)
            changed = await combinations.update_combination(scope, found, _with_choices(input))
        return await shown(info, COMBINATIONS, changed)

    @root(_WRITE, "Delete the combination that a hash names.", internal=True)
    async def combination_called_delete(
        self, info: Info, hash: str, product_id: Ident | None = None
    ) -> DeletedRecord:
        """Delete a combination by its hash."""
        scope = info.context.scope
        with words(_PRODUCT_WORDS):
            found = await combinations.combination_called(scope, hash, product_id)
        await combinations.delete_combination(scope, found)
        return deleted(hash)

    @root(_WRITE, "Forbid variants to be bought together, or allow them as the only ones.")
    async def option_exception_create(
        self, info: Info, input: OptionExceptionInput
    ) -> OptionExceptionObject | None:
        """Make an exception."""
        with words(_PRODUCT_WORDS):
            made = await option_exceptions.create_exception(info.context.scope, _with_choices(input))
        return await shown(info, OPTION_EXCEPTIONS, made)

    @root(_WRITE, "Delete an exception.")
    async def option_exception_delete(self, info: Info, id: Ident) -> DeletedRecord:
        """Delete an exception."""
        await option_exceptions.delete_exception(info.context.scope, id)
        return deleted(id)

    @root(_WRITE, "Say which products have to be bought with a product, in place of those before.")
    async def product_required_products_set(
        self, info: Info, id: Ident, product_ids: list[Ident]
    ) -> ProductObject | None:
        """Set what a product requires."""
        with words({"product_ids": "required"}):
            changed = await attachments.require_products(info.context.scope, id, product_ids)
        return await shown(info, PRODUCTS, changed)


QUERIES = (
    reads(OptionObject, OPTIONS, "option", "options"),
    reads(CombinationObject, COMBINATIONS, "combination", "combinations"),
    reads(OptionExceptionObject, OPTION_EXCEPTIONS, "option_exception", "option_exceptions"),
    reads(AttachmentObject, ATTACHMENTS, "attachment", "attachments"),
    reads(ProductBoxObject, BOXES, "product_box", "product_boxes"),
    reads(BoxDescriptionObject, BOX_DESCRIPTIONS, "box_description", "box_descriptions"),
    CombinationQueries,
)
MUTATIONS = (
    CombinationMutations,
    writes(OptionObject, OPTIONS, "option", OptionInput, OPTION_WRITER),
    writes(AttachmentObject, ATTACHMENTS, "attachment", AttachmentInput, ATTACHMENT_WRITER),
    writes(ProductBoxObject, BOXES, "product_box", ProductBoxInput, BOX_WRITER),
    writes(
        BoxDescriptionObject, BOX_DESCRIPTIONS, "box_description", BoxDescriptionInput, DESCRIPTION_WRITER
    ),
)
