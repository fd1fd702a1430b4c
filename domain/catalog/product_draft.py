"""Read what is wanted of a product, without asking the database anything: fields, places in the catalogue, pictures, features."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from domain.fields import (
    MAX_NAME,
    MAX_QUANTITY,
    Given,
    InputField,
    cents,
    check_fields,
    code_in,
    flag,
    moment,
    name_text,
    one_of,
    refuse_wrong,
    short_text,
    text,
    whole,
)
from kernel.codes import PRODUCT_STATUSES
from kernel.errors import NotFound
from kernel.ids import uuid7
from kernel.scope import ActorKind, Scope
from kernel.text import Malformed, shown, slug

PENDING = "P"
MAX_IMAGES = 100
MAX_CATEGORIES = 100
MAX_FEATURES = 500
MAX_TAXES = 50
_MAX_URL = 2_048
_IMAGE_SCHEMES = ("http://", "https://", "/")


def trimmed(value: object) -> object:
    """Read a short text without the spaces around it."""
    return str(short_text(value)).strip()


def slug_text(value: object) -> object:
    """Read the part of an address that names a product; empty when nothing of it can stand in an address."""
    return slug(str(text()(value)))


def image_url(value: object) -> object:
    """Read the link to a picture; it is shown to browsers, so nothing but http, https and the store's own paths."""
    url = str(text(_MAX_URL, blank=False)(value))
    if not url.startswith(_IMAGE_SCHEMES):
        raise Malformed(f"is {shown(url)}; expected an http or https address")
    return url


PRODUCT_FIELDS: Mapping[str, InputField] = {
    "name": InputField("name", name_text, code="name_invalid", required="name_required"),
    "sku": InputField("sku", trimmed, code="sku_invalid"),
    "slug": InputField("slug", slug_text, code="slug_invalid"),
    "description": InputField("description", text()),
    "short_description": InputField("short_description", text()),
    "status": InputField("status", code_in(PRODUCT_STATUSES), code="status_invalid"),
    "price_cents": InputField("price_cents", cents(), code="price_invalid", required="required"),
    "compare_at_cents": InputField("compare_at_cents", cents(nullable=True), code="price_invalid"),
    # What can be sold; stored as that plus what open orders have reserved (decisions section 1, Stock).
    "stock": InputField("stock", whole(0, MAX_QUANTITY), code="stock_invalid"),
    "tracking": InputField("tracking", one_of("B", "D"), code="tracking_invalid"),
    "weight_grams": InputField("weight_grams", whole(0, MAX_QUANTITY), code="weight_invalid"),
    "is_edp": InputField("is_edp", flag),
    "free_shipping": InputField("free_shipping", flag),
    "min_quantity": InputField("min_quantity", whole(), code="quantity_invalid"),
    "max_quantity": InputField("max_quantity", whole(), code="quantity_invalid"),
}
# What the demo and the importers know of the past.
SYSTEM_FIELDS: Mapping[str, InputField] = {**PRODUCT_FIELDS, "created_at": InputField("created_at", moment)}

IMAGE_FIELDS: Mapping[str, InputField] = {
    "url": InputField("url", image_url, code="url_invalid", required="required"),
    "alt": InputField("alt", text(MAX_NAME)),
    "width": InputField("width", whole()),
    "height": InputField("height", whole()),
}

Wrong = dict[str, tuple[str, str]]


@dataclass(slots=True)
class ProductDraft:
    """Hold one product on its way into the catalogue: what was asked for, and what was found out about it since.

    `columns` hold what fills the product's row (`stock` apart from it: see the write). `product_id` is null for one that is to be
    made. `vendor`, `category`, `categories` and `features` hold what was given; absent parts are None and stay as they are.
    `wrong` collects what is wrong, by field.
    """

    given: Given
    columns: dict[str, Any]
    wrong: Wrong
    images: list[dict[str, Any]] | None = None
    main_image: list[dict[str, Any]] | None = None
    more_images: list[dict[str, Any]] | None = None
    features: Sequence[Given] | None = None
    product_id: int | None = None
    before: Mapping[str, Any] | None = None
    places: list[int] | None = None
    taxes: list[int] | None = None
    public_id: Any = field(default_factory=uuid7)

    @property
    def is_new(self) -> bool:
        """Say whether the product is to be made."""
        return self.product_id is None


def read_draft(scope: Scope, given: Given) -> ProductDraft:
    """Read what was given for a product; what is wrong is collected, not raised."""
    fields = SYSTEM_FIELDS if scope.actor.kind is ActorKind.SYSTEM else PRODUCT_FIELDS
    columns, wrong = check_fields(fields, given)
    if not columns.get("slug", "-"):
        del columns["slug"]  # nothing of it can stand in an address: the name will do
    draft = ProductDraft(given, columns, wrong)
    if given.get("images") is not None:
        draft.images = _images(given["images"], wrong, "images")
    if "main_image" in given:
        only = given["main_image"]
        draft.main_image = _images([only] if only else [], wrong, "main_image")
    if given.get("more_images") is not None:
        draft.more_images = _images(given["more_images"], wrong, "more_images")
    if given.get("features") is not None:
        draft.features = _listed(given["features"], MAX_FEATURES, wrong, "features")
    if given.get("categories") is not None:
        _listed(given["categories"], MAX_CATEGORIES, wrong, "categories")
    if given.get("taxes") is not None:
        _listed(given["taxes"], MAX_TAXES, wrong, "taxes")
    return draft


def start_as_new(scope: Scope, draft: ProductDraft, *, needs_approval: bool) -> None:
    """Ask for what only a new product needs, and decide its status: a vendor's waits for approval where the store says so."""
    for name, known in PRODUCT_FIELDS.items():
        if known.required and name not in draft.given:
            draft.wrong[name] = (known.required, f"{name} is required")
    if scope.actor.kind is ActorKind.VENDOR:
        if needs_approval:
            draft.columns["status"] = PENDING
        elif draft.columns.get("status") == PENDING:
            del draft.columns["status"]


def keep_approval(scope: Scope, draft: ProductDraft) -> None:
    """Drop a status by which a vendor would leave the letter that awaits approval, or take it."""
    if scope.actor.kind is ActorKind.VENDOR and draft.before is not None:
        letters = (draft.before["status"], draft.columns.get("status"))
        if PENDING in letters:
            draft.columns.pop("status", None)


def refuse_drafts(drafts: Sequence[ProductDraft]) -> None:
    """Raise what is wrong: NotFound where a product that was named isn't there, else ValidationFailed with every field."""
    for draft in drafts:
        if "id" in draft.wrong:
            raise NotFound("product")
        refuse_wrong(draft.wrong)


def _images(given: object, wrong: Wrong, name: str) -> list[dict[str, Any]]:
    images = []
    for image in _listed(given, MAX_IMAGES, wrong, name):
        columns, mistakes = check_fields(IMAGE_FIELDS, image, creating=True)
        for mistake, told in mistakes.items():
            wrong[f"{name}.{mistake}"] = told
        images.append(columns)
    return images


def _listed(given: object, most: int, wrong: Wrong, name: str) -> list[Any]:
    if not isinstance(given, Sequence) or isinstance(given, str):
        wrong[name] = ("invalid", f"{name} is {shown(given)}; expected a list")
        return []
    if len(given) > most:
        wrong[name] = ("too_many", f"{name} has {len(given)} entries; expected at most {most}")
        return []
    return list(given)
