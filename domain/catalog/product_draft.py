"""Validate product input without database access: fields, categories, images, features."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from domain.catalog.tags import MAX_TAGS, read_tags
from domain.media.images import read_image_members
from domain.store_settings import setting
from kernel.errors import NotFound
from kernel.fields import FieldErrors, InputField, InputValues, raise_field_errors, read_with_errors, timestamp
from kernel.ids import uuid7
from kernel.product_fields import PRODUCT_FIELDS
from kernel.scope import ActorKind, Scope
from kernel.text import repr_value

PENDING = "P"
MAX_IMAGES = 100
MAX_CATEGORIES = 100
MAX_FEATURES = 500
MAX_TAXES = 50
_QUANTITIES = frozenset({"min_quantity", "max_quantity"})

# Fields accepted from the demo and the importers.
SYSTEM_FIELDS: Mapping[str, InputField] = {**PRODUCT_FIELDS, "created_at": InputField("created_at", timestamp)}


@dataclass(slots=True)
class ProductDraft:
    """A product being created or updated: the input, and what is resolved about it.

    `columns` are the columns of the product's row (except `stock`, see product_writing). `product_id` is null for a new product. Parts that
    are absent from the input are None and stay unchanged. `errors` collects validation errors by field.
    """

    values: InputValues
    columns: dict[str, Any]
    errors: FieldErrors
    images: list[dict[str, Any]] | None = None
    main_image: list[dict[str, Any]] | None = None
    more_images: list[dict[str, Any]] | None = None
    features: Sequence[InputValues] | None = None
    product_id: int | None = None
    current: Mapping[str, Any] | None = None
    category_ids: list[int] | None = None
    taxes: list[int] | None = None
    group_id: int | None = None
    tags: list[str] | None = None
    public_id: Any = field(default_factory=uuid7)

    @property
    def is_new(self) -> bool:
        """Return whether the product is to be created."""
        return self.product_id is None

    @property
    def changes_row(self) -> bool:
        """Return whether the product's row has to be written: it is new, or has another value in a column."""
        return self.current is None or any(self.current[name] != value for name, value in self.columns.items())

    @property
    def changes_vendor(self) -> bool:
        """Return whether an existing product gets another vendor."""
        if self.current is None:
            return False
        present = self.current["vendor_id"]
        return bool(self.columns.get("vendor_id", present) != present)

    def named_images(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Iterate over the images of the input, with the name of the field of each."""
        for name, images in (
            ("images", self.images),
            ("main_image", self.main_image),
            ("more_images", self.more_images),
        ):
            for image in images or ():
                yield name, image


def read_draft(scope: Scope, values: InputValues) -> ProductDraft:
    """Validate the input of a product; errors are collected, not raised."""
    fields = SYSTEM_FIELDS if scope.actor.kind is ActorKind.SYSTEM else PRODUCT_FIELDS
    columns, errors = read_with_errors(fields, values)
    if not columns.get("slug", "-"):
        del columns["slug"]  # nothing of it can be part of a URL: derive it from the name
    draft = ProductDraft(values, columns, errors)
    if values.get("images") is not None:
        draft.images = _read_images(values["images"], errors, "images")
    if "main_image" in values:
        image = values["main_image"]
        draft.main_image = _read_images([image] if image else [], errors, "main_image")
    if values.get("more_images") is not None:
        draft.more_images = _read_images(values["more_images"], errors, "more_images")
    if values.get("features") is not None:
        draft.features = _read_list(values["features"], MAX_FEATURES, errors, "features")
    if values.get("categories") is not None:
        _read_list(values["categories"], MAX_CATEGORIES, errors, "categories")
    if values.get("taxes") is not None:
        _read_list(values["taxes"], MAX_TAXES, errors, "taxes")
    if values.get("tags") is not None:
        draft.tags = read_tags(_read_list(values["tags"], MAX_TAGS, errors, "tags"), errors)
    return draft


def apply_new_product_rules(scope: Scope, draft: ProductDraft) -> None:
    """Check the fields required on creation and set the status: a vendor's product waits for approval if the store requires it."""
    for name, product_field in PRODUCT_FIELDS.items():
        if product_field.required and name not in draft.values:
            draft.errors[name] = (product_field.required, f"{name} is required")
    if scope.actor.kind is ActorKind.VENDOR:
        if setting(scope, "vendor_products_need_approval"):
            draft.columns["status"] = PENDING
        elif draft.columns.get("status") == PENDING:
            del draft.columns["status"]


def protect_approval_status(scope: Scope, draft: ProductDraft) -> None:
    """Drop a status with which a vendor would set or leave the pending status."""
    if scope.actor.kind is ActorKind.VENDOR and draft.current is not None:
        statuses = (draft.current["status"], draft.columns.get("status"))
        if PENDING in statuses:
            draft.columns.pop("status", None)


def check_quantities(scope: Scope, draft: ProductDraft) -> None:
    """Refuse limits of the quantity per order that no quantity meets, unless they are the present ones; CS-Cart accepts them."""
    if scope.family == "legacy" or _QUANTITIES & draft.errors.keys():
        return
    present = {name: draft.current[name] if draft.current is not None else 0 for name in _QUANTITIES}
    limits = present | {name: draft.columns[name] for name in _QUANTITIES & draft.columns.keys()}
    minimum, maximum = limits["min_quantity"], limits["max_quantity"]
    if limits != present and 0 < maximum < minimum:
        draft.errors["min_quantity"] = (
            "quantity_invalid",
            f"min_quantity is {minimum}; expected at most max_quantity, {maximum}",
        )


def raise_draft_errors(drafts: Sequence[ProductDraft]) -> None:
    """Raise NotFound if a named product doesn't exist, else ValidationFailed with every invalid field."""
    for draft in drafts:
        if "id" in draft.errors:
            raise NotFound("product")
        raise_field_errors(draft.errors)


def _read_images(value: object, errors: FieldErrors, name: str) -> list[dict[str, Any]]:
    images = []
    for image in _read_list(value, MAX_IMAGES, errors, name):
        columns, image_errors = read_image_members(image)
        for image_field, error in image_errors.items():
            errors[f"{name}.{image_field}"] = error
        images.append(columns)
    return images


def _read_list(value: object, maximum: int, errors: FieldErrors, name: str) -> list[Any]:
    if not isinstance(value, Sequence) or isinstance(value, str):
        errors[name] = ("invalid", f"{name} is {repr_value(value)}; expected a list")
        return []
    if len(value) > maximum:
        errors[name] = ("too_many", f"{name} has {len(value)} entries; expected at most {maximum}")
        return []
    return list(value)
