"""A cursor that no list issued is an error of the argument, whatever it contains."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from resolvers import root
from tests.harness.sample_store import SampleStore

MESSAGE = "after is not a cursor of this list"
TIMES: tuple[Any, ...] = (
    "9999-12-31T23:59:59-14:00",
    "9999-12-31T23:59:59.999999-00:01",
    "0001-01-01T00:00:00+14:00",
    "2026-01-01T00:00:00",
    "2026-13-01T00:00:00+00:00",
    "",
    5,
    None,
    [],
)


def cursor(*parts: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(parts).encode()).rstrip(b"=").decode()


async def _errors(sample: SampleStore, after: str, sort: str = "") -> list[Any]:
    text = f"query ($after: String) {{ product_connection(first: 2, after: $after{sort}) {{ edges {{ cursor }} }} }}"
    response = await sample.post("/graphql", {"query": text, "variables": {"after": after}}, auth="bearer")
    return response.body.get("errors", [])


@pytest.mark.parametrize("time", TIMES)
async def test_a_time_out_of_range_is_not_a_cursor(time: Any, sample: SampleStore):
    [error] = await _errors(sample, cursor("-created_at", time, 1))
    assert error["message"] == MESSAGE
    assert error["extensions"] == {
        "code": "VALIDATION_FAILED",
        "field": "after",
        "path": ["product_connection"],
        "details": {"fields": {"after": "invalid"}},
    }


@pytest.mark.parametrize("time", ["9999-12-31T23:59:59.999999+00:00", "0001-01-01T00:00:00+00:00"])
async def test_the_ends_of_the_calendar_are_valid(time: str, sample: SampleStore):
    assert await _errors(sample, cursor("-created_at", time, 1)) == []


@pytest.mark.parametrize(
    "after",
    [
        "",
        "é",
        "=",
        "////",
        "W10",
        cursor(),
        cursor(1),
        cursor("-created_at"),
        cursor("-created_at", 1, 1, 1),
    ]
    + [cursor("-created_at", TIMES[3] + "+00:00", number) for number in (2**63, -(2**63) - 1, 1.5, True, None, "1")],
)
async def test_another_text_is_not_a_cursor(after: str, sample: SampleStore):
    [error] = await _errors(sample, after)
    assert error["message"] == MESSAGE


async def test_every_sort_accepts_any_key_of_its_type_or_refuses_it(sample: SampleStore):
    """A number of 64 bits fits no smaller column, which must not be an internal error."""
    schema = root.public_schema()
    assert schema.query_type is not None
    for name, field in schema.query_type.fields.items():
        if not name.endswith("_connection"):
            continue
        for sort, value in field.args["sort"].type.values.items():
            key_name = getattr(value.value, "value", value.value)
            for key in (2**63 - 1, -(2**63), "x" * 3000, "9999-12-31T23:59:59+00:00"):
                text = f"query ($after: String) {{ {name}(after: $after, sort: {sort}) {{ edges {{ cursor }} }} }}"
                after = cursor(key_name, key, 2**63 - 1)
                response = await sample.post("/graphql", {"query": text, "variables": {"after": after}}, auth="bearer")
                assert [error["message"] for error in response.body.get("errors", [])] in ([], [MESSAGE]), (
                    sort,
                    key,
                )
