"""Check the features of products on writing: which variant a body means, and that nothing is erased or created by accident."""

from typing import Any

import pytest

from tests.harness.sample_store import SampleStore


async def create_feature(sample: SampleStore, feature_type: str, *names: str) -> tuple[str, dict[str, str]]:
    """Create a feature and return its id, and its variants' ids by name."""
    body = {"description": f"Feature {feature_type}", "feature_type": feature_type, "variants": list(names)}
    created = await sample.post("/api/features", {name: value for name, value in body.items() if value})
    assert created.status == 201, created.raw
    feature = created.body["feature_id"]
    record = (await sample.get(f"/api/features/{feature}")).body
    return feature, {row["variant"]: number for number, row in record["variants"].items()}


async def write(sample: SampleStore, feature: str, value: Any, status: int = 200) -> Any:
    """Write a value and return the product's value after it; of a refusal, the message."""
    answer = await sample.put(f"/api/products/{sample.mug}", {"product_features": {feature: value}})
    assert answer.status == status, answer.raw
    if status != 200:
        return answer.body["message"]
    features = (await sample.get(f"/api/products/{sample.mug}")).body["product_features"]
    return features.get(feature)


@pytest.mark.parametrize("feature_type", ["S", "E", "N"])
async def test_a_variant_is_named_in_every_way(sample: SampleStore, feature_type: str) -> None:
    feature, ids = await create_feature(sample, feature_type, "Azul", "Verde")
    blue = ids["Azul"]
    for value in (
        blue,
        int(blue),
        "Azul",
        {"variant_id": blue},
        {"feature_type": feature_type, "variant": "Azul"},
        {"value": "Azul"},
        {"value": blue},
        {"variants": {blue: {"variant_id": blue, "variant": "Azul"}}},
        {
            "variants": {
                blue: {"variant_id": blue, "selected": blue},
                ids["Verde"]: {"variant": "Verde", "selected": ""},
            }
        },
        {"variants": [blue]},
        {"variant_id": blue, "value": "Verde"},
    ):
        assert (await write(sample, feature, "Verde"))["variant_id"] == ids["Verde"], value
        chosen = await write(sample, feature, value)
        assert (chosen["variant_id"], chosen["variant"], chosen["value"]) == (blue, "Azul", "Azul"), value
    variants = (await sample.get(f"/api/features/{feature}")).body["variants"]
    assert set(variants) == set(ids.values())


async def test_digits_that_are_no_variant_create_none(sample: SampleStore) -> None:
    feature, ids = await create_feature(sample, "S", "Azul")
    assert await write(sample, feature, "999999999", 400) == "variant 999999999 not found"
    assert (await write(sample, feature, "Roxo"))["variant"] == "Roxo"
    assert len((await sample.get(f"/api/features/{feature}")).body["variants"]) == len(ids) + 1
    await sample.put(f"/api/features/{feature}", {"variants": ["Azul", "2030"]})
    assert (await write(sample, feature, "2030"))["variant"] == "2030"


async def test_numbers_are_values_of_numeric_features(sample: SampleStore) -> None:
    for feature_type, names in (("N", ("Grande",)), ("O", ()), ("N", ())):
        feature, _ = await create_feature(sample, feature_type, *names)
        for value in ("999999999", "12.5", 7):
            chosen = await write(sample, feature, value)
            assert (chosen["value"], chosen["variant_id"], chosen["variants"]) == (str(value), "0", {})
        assert (await write(sample, feature, {"feature_type": feature_type, "value": "3"}))["value"] == "3"


async def test_a_wrong_date_is_named_once(sample: SampleStore) -> None:
    feature, _ = await create_feature(sample, "D")
    expected = f"the value of feature {feature} is 'x'; expected a date such as 2026-01-31"
    assert await write(sample, feature, "x", 400) == expected


async def test_a_wrong_value_of_a_checkbox_names_its_letters(sample: SampleStore) -> None:
    feature, _ = await create_feature(sample, "C")
    for value in ("true", "1", "x"):
        expected = f"the value of feature {feature} is {value!r}; expected Y or N"
        assert await write(sample, feature, value, 400) == expected
    assert (await write(sample, feature, True))["value"] == "Y"


async def test_only_an_explicit_empty_value_erases(sample: SampleStore) -> None:
    feature, ids = await create_feature(sample, "E", "Zed")
    for silent in ({"feature_type": "E"}, {}, {"description": "x"}):
        assert (await write(sample, feature, {"feature_type": "E", "variant": "Zed"}))["variant"] == "Zed", silent
        assert (await write(sample, feature, silent))["variant_id"] == ids["Zed"]
    empties: list[Any] = ["", None, {"value": ""}, {"variant": ""}, []]
    for empty in empties:
        await write(sample, feature, "Zed")
        assert await write(sample, feature, empty) is None


async def test_a_feature_of_checkboxes_has_several_variants(sample: SampleStore) -> None:
    feature, ids = await create_feature(sample, "M", "Sol", "Lua", "Mar")
    sun, moon, sea = ids.values()
    for value, expected in (
        ([sun, moon], {sun, moon}),
        (["Lua", "Mar"], {moon, sea}),
        ({"variants": {sun: {"variant_id": sun}, sea: {"variant_id": sea}}}, {sun, sea}),
        ({"variant_id": moon}, {moon}),
        ("Sol", {sun}),
    ):
        chosen = await write(sample, feature, value)
        assert (set(chosen["variants"]), chosen["variant_id"]) == (expected, "0"), value
    await write(sample, feature, [sun, moon])
    await sample.put(f"/api/features/{feature}", {"variants": {sun: {"variant": "Sol"}, sea: {"variant": "Mar"}}})
    assert set((await write(sample, feature, {}))["variants"]) == {sun}
    await sample.put(f"/api/features/{feature}", {"variants": ["Mar"]})
    assert await write(sample, feature, {}) is None
    assert (await write(sample, feature, [sea, "Novo"]))["variants"].keys() > {sea}
    assert await write(sample, feature, []) is None
    single, single_ids = await create_feature(sample, "S", "A", "B")
    assert "holds 2 variants" in await write(sample, single, list(single_ids.values()), 400)


async def test_new_features_take_variants_under_any_keys(sample: SampleStore) -> None:
    for variants in (
        [{"variant": "P"}, {"variant": "M"}],
        {"0": {"variant": "P"}, "1": {"variant": "M"}},
        {"17": {"variant": "P"}, "x": {"variant": "M"}},
        {"a": "P", "b": "M"},
    ):
        created = await sample.post("/api/features", {"description": "Tam", "feature_type": "S", "variants": variants})
        assert created.status == 201, (variants, created.raw)
        listed = (await sample.get(f"/api/features/{created.body['feature_id']}/variants")).body
        assert [row["variant"] for row in listed["variants"]] == ["P", "M"], variants
        assert listed["params"]["total_items"] == 2, variants
    assert (await sample.get("/api/features/999999999/variants")).status == 404
