"""Select options of a product: find the combination, calculate the price modifiers, apply exceptions; pure."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Protocol
from uuid import UUID

from domain.catalog.product_options import (
    ACTIVE,
    MAX_CHOICES,
    NO_VARIANT,
    TYPES_WITH_VARIANTS,
    LoadedOption,
    LoadedOptionVariant,
    OptionCombination,
    OptionsByReference,
    SelectableOptions,
    VariantSet,
    modifier_cents,
    reference_text,
)
from domain.catalog.stock import OUT_OF_STOCK
from kernel.errors import NotFound, RuleViolation, ValidationFailed
from kernel.ids import ShownId, parse_reference
from kernel.money import format_cents
from kernel.text import has_forbidden_characters, nfc, repr_value
from models.references import NOT_FOUND

MAX_TEXT = 2_000

FILE = "F"


class SelectedFile(str):
    """The name of a shopper's file, the value of an option of type `F`; `facts` are its `{id, mime_type, bytes}`."""

    facts: Mapping[str, Any]

    def __new__(cls, name: str, facts: Mapping[str, Any]) -> SelectedFile:
        """Return the name with the facts."""
        file = super().__new__(cls, name)
        file.facts = facts
        return file


class OptionedProduct(Protocol):
    """A product whose options are selected."""

    @property
    def id(self) -> int: ...  # noqa: D102
    @property
    def public_id(self) -> UUID: ...  # noqa: D102
    @property
    def name(self) -> str: ...  # noqa: D102
    @property
    def price_cents(self) -> int: ...  # noqa: D102
    @property
    def is_tracked(self) -> bool: ...  # noqa: D102
    @property
    def sells_in_advance(self) -> bool: ...  # noqa: D102
    @property
    def selectable_options(self) -> SelectableOptions | None: ...  # noqa: D102


@dataclass(frozen=True, slots=True)
class OptionSelection:
    """The selected options: cents added to the price, the combination, `options` as sold, and `extra`, the legacy representation."""

    price_cents: int
    combination: OptionCombination | None
    options: Sequence[Mapping[str, Any]]
    extra: Mapping[str, Any]


def selection_input(options: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return stored options as `select_options` takes them: option → variant, text or file."""
    return {
        option["option_id"]: SelectedFile(option["value"], option["file"])
        if option.get("file")
        else option["variant_id"] or option["value"]
        for option in options
    }


def option_values(options: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return stored options in the form of an input: option → variant, text or id of a file."""
    return {
        option: value.facts["id"] if isinstance(value, SelectedFile) else value
        for option, value in selection_input(options).items()
    }


def options_key(options: Sequence[Mapping[str, Any]]) -> str:
    """Return a key that identifies a set of stored options; empty for none."""
    if not options:
        return ""
    return hashlib.sha256(repr(sorted(option_values(options).items())).encode()).hexdigest()[:32]


def file_options(product: OptionedProduct, values: Mapping[str, Any]) -> Iterator[tuple[str, LoadedOption]]:
    """Yield the options of type `F` among the names of selected options, each as it is named."""
    known = product.selectable_options.options if product.selectable_options is not None else {}
    for name in values:
        reference = parse_reference(name)
        option = known.get(reference) if reference is not None else None
        if option is not None and option.type == FILE:
            yield name, option


def files_of(options: Iterable[Sequence[Mapping[str, Any]]]) -> list[str]:
    """Return the ids of the files in the stored options of lines."""
    return [option["file"]["id"] for chosen in options for option in chosen if option.get("file")]


def selection_key(selection: OptionSelection | None) -> str:
    """Return a key that identifies a selection; empty for none."""
    return options_key(selection.options) if selection is not None else ""


def select_options(
    product: OptionedProduct, values: Mapping[str, Any], *, in_combination: bool = True
) -> OptionSelection | None:
    """Parse the selected options of a product, `{option: variant or text}`; None when none are selected.

    A product with combinations is sold in one of them only; `in_combination=False` selects options without buying any. Raises
    ValidationFailed for options not of the product and for a missing one that is required, or without which there is no combination
    (`option_required`), RuleViolation `combination_unavailable` when no combination matches the variants, and `option_exception`.
    """
    if product.selectable_options is None and not values:
        return None
    selectable = product.selectable_options or SelectableOptions()
    selected = _read(product.name, selectable.options, values)
    _reject_incomplete(product.name, selectable.options, selected)
    variants = [(option, value) for option, value in selected.values() if isinstance(value, LoadedOptionVariant)]
    _reject_exceptions(product, selectable, frozenset((option.id, variant.id) for option, variant in variants))
    combination = _combination(product, selectable, variants)
    if in_combination and selectable.combinations and combination is None:
        raise _missing_combination(product.name, selectable.options, selected)
    if not selected:
        return None
    modifiers_cents = sum(modifier_cents(product.price_cents, variant) for _, variant in variants)
    ordered = sorted(selected.values(), key=lambda entry: (entry[0].position, entry[0].id))
    return OptionSelection(
        price_cents=modifiers_cents + (combination.price_cents if combination else 0),
        combination=combination,
        options=[_public_option(option, value) for option, value in ordered],
        extra={
            "product_options": {str(option.id): _legacy_value(value) for option, value in ordered},
            "product_options_value": [_legacy_option(option, value) for option, value in ordered],
        },
    )


def select_combination(product: OptionedProduct, public_id: UUID, values: Mapping[str, Any]) -> OptionSelection:
    """Parse the selection of one of a product's combinations; `values` are its further options.

    Raises NotFound for no combination of the product, `combination_unavailable` when `values` make another one of it, and what
    `select_options` does.
    """
    selectable = product.selectable_options or SelectableOptions()
    combination = next((each for each in selectable.combinations if each.public_id == public_id), None)
    if combination is None:
        raise NotFound("combination")
    selection = select_options(
        product, {**values, **{str(option): variant for option, variant in combination.variants}}
    )
    if selection is None or selection.combination != combination:
        raise _violation("there is no such combination of options", "combination_unavailable", product)
    return selection


def _read(
    product: str, options: OptionsByReference, values: Mapping[str, Any]
) -> dict[int, tuple[LoadedOption, LoadedOptionVariant | str]]:
    if len(values) > MAX_CHOICES:
        raise _invalid(f"options has {len(values)} entries; expected at most {MAX_CHOICES}", "too_many")
    selected: dict[int, tuple[LoadedOption, LoadedOptionVariant | str]] = {}
    for name, value in values.items():
        if value is None or value == "":
            continue
        reference = parse_reference(name)
        option = options.get(reference) if reference is not None else None
        if option is None or option.status != ACTIVE:
            raise _invalid(f"option {reference_text(name)} is not of {product}", NOT_FOUND)
        if option.id in selected:
            raise _invalid(f"option {reference_text(name)} is named twice", "duplicate")
        selected[option.id] = (
            option,
            _variant(option, value) if option.type in TYPES_WITH_VARIANTS else _text(option, value),
        )
    return selected


def _variant(option: LoadedOption, value: object) -> LoadedOptionVariant:
    reference = parse_reference(value)
    variant = option.variants.get(reference) if reference is not None else None
    if variant is None:
        raise _invalid(f"variant {reference_text(value)} is not of option {option.name}", NOT_FOUND)
    return variant


def _text(option: LoadedOption, value: object) -> str:
    if isinstance(value, SelectedFile) and option.type == FILE:
        return value
    text = str(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else value
    if not isinstance(text, str) or len(text) > MAX_TEXT or has_forbidden_characters(text):
        raise _invalid(
            f"option {option.name} is {repr_value(value)}; expected a text of at most {MAX_TEXT} characters", "invalid"
        )
    return nfc(text)


def _reject_incomplete(product: str, options: OptionsByReference, selected: Mapping[int, Any]) -> None:
    required = {option.id: option for option in options.values() if option.required and option.status == ACTIVE}
    missing = [option.name for number, option in required.items() if number not in selected]
    if missing:
        raise _invalid(f"{product}: {', '.join(missing)} is required", "option_required")


def _missing_combination(product: str, options: OptionsByReference, selected: Mapping[int, Any]) -> ValidationFailed:
    offered = {option.id: option.name for option in options.values() if option.inventory and option.status == ACTIVE}
    missing = [name for number, name in offered.items() if number not in selected]
    return _invalid(f"{product} is sold in combinations only: {', '.join(missing)} is required", "option_required")


def default_options(product: OptionedProduct, values: Mapping[str, Any], units: int) -> dict[str, Any]:
    """Return the selected options, completed by those of the first combination that fits them and has so many units in stock,
    of a product that is sold in advance else of the first that fits them.

    Unchanged for a product without combinations, and when they choose one. Raises ValidationFailed for options not of the product and for
    another required one, RuleViolation `out_of_stock` or `combination_unavailable` when no combination can be bought.
    """
    selectable = product.selectable_options
    if selectable is None or not selectable.combinations:
        return dict(values)
    selected = _read(product.name, selectable.options, values)
    pairs = {(number, value.id) for number, (_, value) in selected.items() if isinstance(value, LoadedOptionVariant)}
    if any(combination.variants <= pairs for combination in selectable.combinations):
        return dict(values)
    available: list[int] = []
    short: list[dict[str, Any]] = []
    for combination in selectable.combinations:
        added = {str(number): variant for number, variant in combination.variants if number not in selected}
        with suppress(RuleViolation):
            selection = select_options(product, {**values, **added})
            if selection is None or selection.combination != combination:
                continue
            if not product.is_tracked or combination.stock >= units:
                return {**values, **added}
            available.append(combination.stock)
            short.append({**values, **added})
    if short and product.sells_in_advance:
        return short[0]
    if available:
        raise _violation("out of stock", OUT_OF_STOCK, product, available=max(available))
    raise _violation("no combination of options can be bought", "combination_unavailable", product)


def _invalid(message: str, code: str) -> ValidationFailed:
    return ValidationFailed(message, field="options", code=code)


def _reject_exceptions(product: OptionedProduct, selectable: SelectableOptions, pairs: VariantSet) -> None:
    chosen = {option for option, _ in pairs}
    options = {option.id for option in selectable.options.values()}
    state = pairs | {(option, NO_VARIANT) for option in options - chosen}
    is_forbidden = any(excluded <= state for excluded in selectable.forbidden)
    is_not_allowed = bool(selectable.allowed and pairs) and not any(allowed <= state for allowed in selectable.allowed)
    if is_forbidden or is_not_allowed:
        raise _violation("these options can't be chosen together", "option_exception", product)


def _combination(
    product: OptionedProduct,
    selectable: SelectableOptions,
    variants: Sequence[tuple[LoadedOption, LoadedOptionVariant]],
) -> OptionCombination | None:
    """Return the most specific matching combination; None without combinations or without a selected inventory option."""
    pairs = {(option.id, variant.id) for option, variant in variants if option.inventory}
    if not selectable.combinations or not pairs:
        return None
    matches = [combination for combination in selectable.combinations if combination.variants <= pairs]
    if not matches:
        raise _violation("there is no such combination of options", "combination_unavailable", product)
    return max(matches, key=lambda combination: (len(combination.variants), -combination.id))


def _violation(message: str, reason: str, product: OptionedProduct, **details: Any) -> RuleViolation:
    return RuleViolation(
        f"{message}: {product.name}",
        reason=reason,
        details={"products": [{"product_id": ShownId(product.public_id, product.id), "name": product.name, **details}]},
    )


def _public_option(option: LoadedOption, value: LoadedOptionVariant | str) -> dict[str, Any]:
    fields = {"option_id": str(option.public_id), "name": option.name}
    if isinstance(value, str):
        file = {"file": dict(value.facts)} if isinstance(value, SelectedFile) else {}
        return {**fields, "variant_id": None, "value": str(value), "modifier": 0, "modifier_type": "A", **file}
    return {
        **fields,
        "variant_id": str(value.public_id),
        "value": value.name,
        "modifier": value.modifier,
        "modifier_type": value.modifier_type,
    }


def _legacy_value(value: LoadedOptionVariant | str) -> str:
    return str(value.id if isinstance(value, LoadedOptionVariant) else value)


def _legacy_option(option: LoadedOption, value: LoadedOptionVariant | str) -> dict[str, Any]:
    name, modifier, modifier_type = (
        (value, 0, "A") if isinstance(value, str) else (value.name, value.modifier, value.modifier_type)
    )
    return {
        "option_id": str(option.id),
        "option_name": option.name,
        "option_type": option.type,
        "value": _legacy_value(value),
        "variant_name": name,
        "modifier": format_cents(modifier),
        "modifier_type": modifier_type,
    }
