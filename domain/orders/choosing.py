"""Choose options of a product: which combination that is, what it adds to the price, and what exceptions forbid. Pure but for one read."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol
from uuid import UUID

from domain.catalog.offered import (
    ACTIVE,
    BY_VARIANT,
    MAX_CHOICES,
    Offered,
    Options,
    Variant,
    modifier_cents,
    offered_by,
    pairs_of,
)
from domain.catalog.option_exceptions import FORBIDDEN
from kernel.errors import RuleViolation, ValidationFailed
from kernel.ids import parse_reference
from kernel.money import decimal_text
from kernel.scope import Scope
from kernel.text import has_forbidden_characters, nfc, shown
from models.database import rows

MAX_TEXT = 2_000

_COMBINATIONS = """
SELECT product_id, NULL AS type, id, hash, sku, price_cents, stock FROM combinations
WHERE tenant_id = $1 AND product_id = ANY($2::bigint[]) AND deleted_at IS NULL
UNION ALL
SELECT product_id, type, id, hash, '', 0, 0 FROM option_exceptions WHERE tenant_id = $1 AND product_id = ANY($2::bigint[])
"""

Choices = frozenset[tuple[int, int]]
"""Pairs of option and variant."""


@dataclass(frozen=True, slots=True)
class Kept:
    """Describe a combination: what it adds to the price in cents, what of it can be sold."""

    id: int
    choices: Choices
    sku: str
    price_cents: int
    stock: int


@dataclass(slots=True)
class Choosable:
    """Hold what can be chosen of a product."""

    options: Options = field(default_factory=dict)
    combinations: list[Kept] = field(default_factory=list)
    forbidden: list[Choices] = field(default_factory=list)
    allowed: list[Choices] = field(default_factory=list)


class Sold(Protocol):
    """A product as it stands when something is chosen of it."""

    @property
    def public_id(self) -> UUID: ...  # noqa: D102
    @property
    def name(self) -> str: ...  # noqa: D102
    @property
    def price_cents(self) -> int: ...  # noqa: D102
    @property
    def choosable(self) -> Choosable | None: ...  # noqa: D102


@dataclass(frozen=True, slots=True)
class OptionSelection:
    """Describe what was chosen: cents it adds to the price, the combination, `options` as sold, and what the legacy layer shows of it."""

    price_cents: int
    combination: Kept | None
    options: Sequence[Mapping[str, Any]]
    extra: Mapping[str, Any]


def as_asked(options: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Give options as sold as they can be asked for again: option → variant or text."""
    return {option["option_id"]: option["variant_id"] or option["value"] for option in options}


def key_as_sold(options: Sequence[Mapping[str, Any]]) -> str:
    """Tell one choice from another; nothing chosen is the empty text."""
    if not options:
        return ""
    return hashlib.sha256(repr(sorted(as_asked(options).items())).encode()).hexdigest()[:32]


def key_of(choice: OptionSelection | None) -> str:
    """Tell one choice from another; nothing chosen is the empty text."""
    return key_as_sold(choice.options) if choice is not None else ""


async def choosable(scope: Scope, products: Iterable[int]) -> dict[int, Choosable]:
    """Read what can be chosen of products, in two statements."""
    ids = list(products)
    if not ids:
        return {}
    found = {product: Choosable(options) for product, options in (await offered_by(scope, ids)).items()}
    for each in await rows(_COMBINATIONS, scope.store.id, ids):
        of_product, choices = found[each["product_id"]], frozenset(pairs_of(each["hash"]))
        if each["type"] is None:
            of_product.combinations.append(
                Kept(each["id"], choices, each["sku"], each["price_cents"], each["stock"])
            )
        else:
            (of_product.forbidden if each["type"] == FORBIDDEN else of_product.allowed).append(choices)
    return found


def choose(product: Sold, given: Mapping[str, Any]) -> OptionSelection | None:
    """Read what is chosen of a product, `{option: variant or text}`; null when nothing is.

    Raises ValidationFailed for what is not of the product and for a required option that is missing (`option_required`), RuleViolation
    `combination_unavailable` where the inventory holds no such combination, and `option_exception`.
    """
    of = product.choosable or Choosable()
    chosen = _read(product.name, of.options, given)
    _refuse_incomplete(product.name, of.options, chosen)
    if not chosen:
        return None
    variants = [(option, value) for option, value in chosen.values() if isinstance(value, Variant)]
    pairs = frozenset((option.id, variant.id) for option, variant in variants)
    _refuse_exceptions(product, of, pairs)
    combination = _combination(product, of, variants)
    added = sum(modifier_cents(product.price_cents, variant) for _, variant in variants)
    in_order = sorted(chosen.values(), key=lambda each: (each[0].position, each[0].id))
    return OptionSelection(
        price_cents=added + (combination.price_cents if combination else 0),
        combination=combination,
        options=[_public(option, value) for option, value in in_order],
        extra={
            "product_options": {str(option.id): _legacy_value(value) for option, value in in_order},
            "product_options_value": [_legacy(option, value) for option, value in in_order],
        },
    )


# --- Reading ---------------------------------------------------------------------------------------------------------------


def _read(
    product: str, options: Options, given: Mapping[str, Any]
) -> dict[int, tuple[Offered, Variant | str]]:
    if len(given) > MAX_CHOICES:
        raise _wrong(f"options has {len(given)} entries; expected at most {MAX_CHOICES}", "too_many")
    chosen: dict[int, tuple[Offered, Variant | str]] = {}
    for named, value in given.items():
        if value is None or value == "":
            continue
        reference = parse_reference(named)
        option = options.get(reference) if reference is not None else None
        if option is None or option.status != ACTIVE:
            raise _wrong(f"option {_said(named)} is not of {product}", "not_found")
        if option.id in chosen:
            raise _wrong(f"option {_said(named)} is named twice", "duplicate")
        chosen[option.id] = (
            option,
            _variant(option, value) if option.type in BY_VARIANT else _text(option, value),
        )
    return chosen


def _variant(option: Offered, value: object) -> Variant:
    reference = parse_reference(value)
    variant = option.variants.get(reference) if reference is not None else None
    if variant is None:
        raise _wrong(f"variant {_said(value)} is not of option {option.name}", "not_found")
    return variant


def _text(option: Offered, value: object) -> str:
    text = str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value
    if not isinstance(text, str) or has_forbidden_characters(text) or len(text) > MAX_TEXT:
        raise _wrong(
            f"option {option.name} is {shown(value)}; expected a text of at most {MAX_TEXT} characters",
            "invalid",
        )
    return nfc(text)


def _refuse_incomplete(product: str, options: Options, chosen: Mapping[int, Any]) -> None:
    wanted = {option.id: option for option in options.values() if option.required and option.status == ACTIVE}
    missing = [option.name for number, option in wanted.items() if number not in chosen]
    if missing:
        raise _wrong(f"{product}: {', '.join(missing)} is required", "option_required")


def _wrong(message: str, code: str) -> ValidationFailed:
    return ValidationFailed(message, field="options", code=code)


def _said(reference: object) -> str:
    return str(reference) if parse_reference(reference) is not None else shown(reference)


# --- Deciding --------------------------------------------------------------------------------------------------------------


def _refuse_exceptions(product: Sold, of: Choosable, pairs: Choices) -> None:
    is_forbidden = any(choices <= pairs for choices in of.forbidden)
    is_left_out = bool(of.allowed and pairs) and not any(choices <= pairs for choices in of.allowed)
    if is_forbidden or is_left_out:
        raise _refusal("these options can't be chosen together", "option_exception", product)


def _combination(product: Sold, of: Choosable, variants: Sequence[tuple[Offered, Variant]]) -> Kept | None:
    """Give the combination that says most of what was chosen; none where the product keeps none or no option of the inventory is chosen."""
    pairs = {(option.id, variant.id) for option, variant in variants if option.inventory}
    if not of.combinations or not pairs:
        return None
    fitting = [kept for kept in of.combinations if kept.choices <= pairs]
    if not fitting:
        raise _refusal("there is no such combination of options", "combination_unavailable", product)
    return max(fitting, key=lambda kept: (len(kept.choices), -kept.id))


def _refusal(why: str, reason: str, product: Sold) -> RuleViolation:
    named = {"product_id": str(product.public_id), "name": product.name}
    return RuleViolation(f"{why}: {product.name}", reason=reason, details={"products": [named]})


# --- Showing ---------------------------------------------------------------------------------------------------------------


def _public(option: Offered, value: Variant | str) -> dict[str, Any]:
    told = {"option_id": str(option.public_id), "name": option.name}
    if isinstance(value, str):
        return {**told, "variant_id": None, "value": value, "modifier": 0, "modifier_type": "A"}
    return {
        **told,
        "variant_id": str(value.public_id),
        "value": value.name,
        "modifier": value.modifier,
        "modifier_type": value.modifier_type,
    }


def _legacy_value(value: Variant | str) -> str:
    return str(value.id) if isinstance(value, Variant) else value


def _legacy(option: Offered, value: Variant | str) -> dict[str, Any]:
    name, modifier, modifier_type = (
        (value, 0, "A") if isinstance(value, str) else (value.name, value.modifier, value.modifier_type)
    )
    return {
        "option_id": str(option.id),
        "option_name": option.name,
        "option_type": option.type,
        "value": _legacy_value(value),
        "variant_name": name,
        "modifier": decimal_text(modifier),
        "modifier_type": modifier_type,
    }
