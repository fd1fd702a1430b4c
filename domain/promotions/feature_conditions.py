"""Resolve the values of conditions on features: which variants, texts or number a product's feature must have.

A feature with variants is compared by variant, and text of digits that is the id of one of its variants means that variant, other text the
one of that name, as in product_features (docs/reference/legacy.md#products). Other features are compared by their text, ignoring case and
accents; `lt lte gt gte` compare numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from domain.catalog.feature_values import TYPES_WITH_VARIANTS, FeatureDefinition, load_definitions
from domain.promotions.rules import feature_texts
from kernel.errors import ValidationFailed
from kernel.ids import parse_reference
from kernel.scope import Scope
from kernel.text import fold, repr_value
from models.references import NOT_FOUND

_BOUNDS = frozenset({"lt", "lte", "gt", "gte"})
FEATURE_OPERATORS = frozenset({"eq", "neq", "in", "nin", "cont", "ncont"}) | _BOUNDS


@dataclass(slots=True)
class FeatureCondition:
    """A condition on a feature: the reference to it, which is resolved in place, its operator and its texts; `value` is the rule's."""

    feature: list[Any]
    operator: str
    texts: Sequence[str]
    value: dict[str, Any] = field(default_factory=dict)


async def resolve_features(scope: Scope, conditions: Sequence[FeatureCondition], *, name: str) -> None:
    """Complete the values of conditions whose references are resolved, in one statement.

    Raises ValidationFailed for digits that name no variant and for bounds that are no number.
    """
    if not conditions:
        return
    definitions = await load_definitions(scope, list({condition.feature[0] for condition in conditions}))
    for condition in conditions:
        condition.value |= _rule_value(definitions[condition.feature[0]], condition, name)


def _rule_value(feature: FeatureDefinition, condition: FeatureCondition, name: str) -> dict[str, Any]:
    if condition.operator in _BOUNDS:
        return {"feature": feature.id, "number": _number(condition.texts, name)}
    if feature.type not in TYPES_WITH_VARIANTS or condition.operator in ("cont", "ncont"):
        return {"feature": feature.id, "variants": [], "texts": sorted(feature_texts(*condition.texts))}
    names = {fold(variant.strip()): number for variant, number in feature.by_name.items()}
    variants, texts = [], []
    for text in condition.texts:
        variant = _variant(feature, names, text)
        if variant is not None:
            variants.append(variant)
        elif text.isdigit() and feature.type != "N":
            raise ValidationFailed(f"{name}: variant {text} not found", field=name, code=NOT_FOUND)
        else:
            texts.append(text)  # a variant of that name may be added later
    return {"feature": feature.id, "variants": variants, "texts": sorted(feature_texts(*texts))}


def _variant(feature: FeatureDefinition, names: Mapping[str, int], text: str) -> int | None:
    reference = parse_reference(text)
    by_reference = feature.by_reference.get(reference) if reference is not None else None
    return by_reference if by_reference is not None else names.get(fold(text.strip()))


def _number(texts: Sequence[str], name: str) -> str:
    text = texts[0].strip() if len(texts) == 1 else ""
    digits = text.removeprefix("-").replace(".", "", 1)
    if not digits.isascii() or not digits.isdigit() or len(text) > 30 or text.endswith("."):
        raise ValidationFailed(
            f"{name} hold feature, which is {repr_value(','.join(texts))}; expected one number",
            field=name,
            code=f"{name}_invalid",
        )
    return str(Decimal(text))
