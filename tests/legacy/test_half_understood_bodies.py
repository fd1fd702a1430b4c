"""No body is half understood and answered with 200: what a body says is in the next read, or the answer is 400 or 422.

The bodies are generated: every writable field of every entity is sent in every form that a client may take for right. A value that was
sent and accepted is in the record afterwards (as the same text, number or flag), and is never erased. Read-only and unknown members are
ignored, as the reference says.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

import orjson
import pytest

from rest_facade.legacy.resource import IN_CSCART, RecordField, Resource
from rest_facade.legacy.resources import RESOURCES
from tests.harness.sample_store import SampleStore
from tests.legacy.entities import body_of, path_of, record_of, supports

WORD = "zed"
FORMS: Mapping[str, Any] = {
    "a word": WORD,
    "digits": "7",
    "a number": 7,
    "a fraction": 7.5,
    "a negative number": -7,
    "true": True,
    "a flag": "Y",
    "an array": [WORD],
    "an array of digits": ["7"],
    "an array of arrays": [[WORD]],
    "an array of objects": [{WORD: WORD}],
    "an object": {WORD: WORD},
    "an object with a value": {"value": WORD},
    "an object keyed by numbers": {"0": WORD},
    "an object keyed by an id": {"7": {"value": WORD}},
}
EMPTY_FORMS: Mapping[str, Any] = {"null": None, "an empty text": "", "an empty array": [], "an empty object": {}}
# Fields that are shown under another name, or in another form.
SHOWN_AS: Mapping[str, str] = {"orders.shipping_id": "shipping_ids", "options.main_pair": "variants"}
# Members of pictures that the store writes.
GENERATED = {
    "pair_id", "image_id", "detailed_id", "object_id", "object_type", "position", "http_image_path", "https_image_path"
}  # fmt: skip
# Fields of which the body of a creation has only one.
ALTERNATIVES = {"orders.shipping_ids": "shipping_id"}
# Fields that no record shows: their effects have tests of their own.
NEVER_SHOWN = {
    "users.password",
    "orders.restock",
    "orders.coupon_code",
    "orders.points_to_use",
    "shipments.order_status",
    "options.product_ids",
    "stores.has_no_email",
    "products.variation_feature_values",
}


def fields_of(resource: Resource) -> Iterator[RecordField]:
    for field in (*resource.fields, *resource.detail_fields, *resource.input_fields):
        # What only the dialect of CS-Cart has is ignored in the other one, which this store has.
        if field.input_path and field.permission != IN_CSCART and f"{resource.path}.{field.name}" not in NEVER_SHOWN:
            yield field


def shown(resource: Resource, record: Mapping[str, Any], field: RecordField) -> Any:
    return record[SHOWN_AS.get(f"{resource.path}.{field.name}", field.name)]


def leaves(value: Any) -> list[Any]:
    """Return the scalars in a value; an object's keys are places, and what the store writes into pictures isn't the client's."""
    if isinstance(value, dict):
        return [leaf for key, item in value.items() if key not in GENERATED for leaf in leaves(item)]
    if isinstance(value, list):
        return [leaf for item in value for leaf in leaves(item)]
    return [value]


def means(sent: Any, stored: Any) -> bool:
    """Return whether a stored scalar is the one sent."""
    if isinstance(sent, bool):
        return str(stored) in ("Y", "1", "True", "true") if sent else str(stored) in ("N", "0", "False", "false")
    if str(sent).casefold() == str(stored).casefold():
        return True
    try:
        return Decimal(str(sent)) == Decimal(str(stored))
    except InvalidOperation:
        return False


def is_lost(sent: Any, stored: Any) -> bool:
    """Return whether a scalar that was sent is not in the record."""
    return any(not any(means(leaf, kept) for kept in leaves(stored)) for leaf in leaves(sent))


def is_empty(value: Any) -> bool:
    return value in (None, "", [], {}, "0", "0.00", "0.000", "N") or (
        isinstance(value, dict | list) and not leaves(value)
    )


@dataclass(frozen=True)
class Sent:
    """A body: the field with its value, and how the value was made."""

    field: RecordField
    form: str
    value: Any

    def __str__(self) -> str:
        return f"{self.field.name} = {self.value!r} ({self.form})"


def bodies(resource: Resource, record: Mapping[str, Any]) -> Iterator[Sent]:
    """Yield every writable field in every form, and the record's own lists and objects in other forms."""
    for field in fields_of(resource):
        for form, value in {**FORMS, **EMPTY_FORMS}.items():
            yield Sent(field, form, value)
        own = shown(resource, record, field)
        if isinstance(own, dict | list) and leaves(own):
            for form, value in rearranged(own).items():
                yield Sent(field, f"its own value as {form}", value)


def _without(value: Any, *names: str) -> Any:
    """Return a value without the members of these names."""
    if isinstance(value, dict):
        return {key: _without(item, *names) for key, item in value.items() if key not in names}
    return [_without(item, *names) for item in value] if isinstance(value, list) else value


def rearranged(value: dict[str, Any] | list[Any]) -> dict[str, Any]:
    """Return a structured value in the forms in which programs send it by mistake."""
    entries = list(value.values()) if isinstance(value, dict) else value
    return {
        "an array in an array": [value],
        "a value": {"value": value},
        "an array": entries,
        "a map": {str(number): entry for number, entry in enumerate(entries)},
        "a map of arrays": {str(number): [entry] for number, entry in enumerate(entries)},
        "JSON in a text": orjson.dumps(value).decode(),
        "objects with other members": [
            {f"{key}_{WORD}": item for key, item in entry.items()} if isinstance(entry, dict) else {WORD: entry}
            for entry in entries
        ],
        "words": [WORD for _ in entries],
        "a map to words": {str(key): WORD for key in (value if isinstance(value, dict) else range(len(value)))},
    }


async def updates(sample: SampleStore, resource: Resource) -> list[str]:
    """Return what was wrong about the updates of one record with each of the bodies."""
    path = f"/api/{path_of(sample, resource)}/{record_of(sample, resource)}"
    record = (await sample.get(path)).body
    wrong = []
    for sent in list(bodies(resource, record)):
        written = await sample.put(path, {sent.field.name: sent.value})
        if written.status in REFUSALS:
            continue
        answer = await sample.get(path)
        problem = judge(resource, sent, record, answer.body) if written.status == 200 else f"status {written.status}"
        if problem:
            wrong.append(f"PUT {sent}: {problem}")
        if answer.status != 200:
            return wrong
        record = answer.body
    if (await sample.get(path)).body != record:
        wrong.append("a refused update changed the record")
    return wrong


async def creations(sample: SampleStore, resource: Resource) -> list[str]:
    """Return what was wrong about the records created with each of the bodies."""
    path = f"/api/{path_of(sample, resource)}"
    example = (await sample.get(f"{path}/{record_of(sample, resource)}")).body
    wrong = []
    # Variants and delivery areas get ids of their own.
    for number, sent in enumerate(bodies(resource, _without(example, "variant_id", "area_id"))):
        body = {**body_of(sample, resource, 1_000 + number), sent.field.name: sent.value}
        body.pop(ALTERNATIVES.get(f"{resource.path}.{sent.field.name}", ""), None)
        created = await sample.post(path, body)
        if created.status in REFUSALS:
            continue
        if created.status != 201:
            wrong.append(f"POST {sent}: status {created.status}")
            continue
        record = (await sample.get(f"{path}/{next(iter(created.body.values()))}")).body
        problem = judge(resource, sent, record, record)
        if problem:
            wrong.append(f"POST {sent}: {problem}")
    return wrong


def judge(resource: Resource, sent: Sent, before: Any, after: Any) -> str:
    """Say what is wrong about a field after a value was accepted."""
    was, became = shown(resource, before, sent.field), shown(resource, after, sent.field)
    name = f"{resource.path}.{sent.field.name}"
    if is_empty(sent.value) or (name in KEPT_ON_UPDATE and became == was):
        return "" if became == was or is_empty(became) else f"{was!r} became {became!r}"
    if name in NORMALIZED:
        # A slug that another record has gets a number.
        return "" if became.startswith(NORMALIZED[name](str(sent.value))) else f"accepted, and became {became!r}"
    return f"accepted, and {was!r} became {became!r}" if is_lost(sent.value, became) else ""


REFUSALS = (400, 422)
NORMALIZED: Mapping[str, Callable[[str], str]] = {
    "users.phone": lambda text: re.sub("[^0-9]", "", text),
    **{
        f"{path}.seo_name": lambda text: (
            text
            if re.fullmatch("[a-z0-9]+([-_./][a-z0-9]+)*", text)
            else re.sub("[^a-z0-9]+", "-", text.lower()).strip("-")
        )
        for path in ("products", "categories", "pages", "stores")
    },
}
"""Fields that are stored in another form of the text, as the reference says."""
KEPT_ON_UPDATE = {
    "shipments.order_id",  # a shipment keeps its order
    "statuses.params",  # members other than inventory and notify are ignored
}
"""Fields that the reference lets an update ignore."""

_SHOWABLE = [resource for resource in RESOURCES if supports(resource, "show")]


def _supporting(action: str) -> list[Any]:
    """Return the resources with an action; where mugs have combinations, their stock and codes are those of these."""
    marks = {"combinations": [pytest.mark.combination]}
    resources = [resource for resource in _SHOWABLE if supports(resource, action)]
    return [pytest.param(resource, marks=marks.get(resource.path, ()), id=resource.path) for resource in resources]


@pytest.mark.slow
@pytest.mark.parametrize("resource", _supporting("update"))
async def test_what_an_update_accepts_is_in_the_next_read(sample: SampleStore, resource: Resource) -> None:
    wrong = await updates(sample, resource)
    assert not wrong, "\n".join(wrong)


@pytest.mark.slow
@pytest.mark.parametrize("resource", _supporting("create"))
async def test_what_a_creation_accepts_is_in_the_record(sample: SampleStore, resource: Resource) -> None:
    wrong = await creations(sample, resource)
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    "path, body, message",
    [
        # CS-Cart's own form of rates, which would have become shipping for nothing.
        ("shippings/{sedex}", {"rates": {"0": {"rate_value": {"C": {"0": {"value": 5}}}}}}, "rates: rate_value is"),
        ("shippings/{sedex}", {"rates": [{"price": "5.00"}]}, "rates holds {'price': '5.00'}"),
        ("products/{mug}", {"product_features": {"9999": "x"}}, "feature '9999' not found"),
        ("products/{mug}", {"category_ids": {"0": {"category_id": 1}}}, "category_ids is"),
        ("orders/{order}", {"products": "1,2"}, "products is '1,2'; expected an array or an object"),
        ("orders/{order}", {"user_data": ["Ana"]}, "user_data is"),
        ("features/{material}", {"variants": "Azul"}, "variants is"),
        ("taxes/{icms}", {"rates": {"1": {"value": "5"}}}, "rates: rate_value is null"),
    ],
)
async def test_what_is_not_understood_is_named(sample: SampleStore, path: str, body: Any, message: str) -> None:
    answer = await sample.put(f"/api/{path.format_map(vars_of(sample, path))}", body)
    assert (answer.status, message in answer.body["message"]) == (400, True), answer.raw


def vars_of(sample: SampleStore, path: str) -> dict[str, Any]:
    name = path.partition("{")[2].rstrip("}")
    return {name: getattr(sample, name)}


async def test_the_base_rate_of_cs_cart_is_the_base(sample: SampleStore) -> None:
    path = f"/api/shippings/{sample.sedex}"
    assert (await sample.put(path, {"rates": {"0": {"base_rate": "5.00"}}})).status == 200
    [rate] = (await sample.get(path)).body["rates"]
    assert (rate["destination_id"], rate["base"]) == ("0", "5.00")
