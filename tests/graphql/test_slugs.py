"""Products, categories, pages and vendors are found by id or by slug, compiled and by the executor alike."""

from __future__ import annotations

import asyncio
import re

import pytest

from tests.graphql.conftest import ExecuteQuery, StoreRecords
from tests.harness.sample_store import SampleStore

ENTITIES = ("product", "category", "page", "vendor")
MADE = ("category", "page", "vendor")


def by_slug(entity: str) -> str:
    return f"query($slug: String) {{ {entity}(slug: $slug) {{ id slug }} }}"


@pytest.mark.parametrize("caller", ["admin", "customer", "storefront"])
@pytest.mark.parametrize("entity", ENTITIES)
async def test_a_record_is_found_by_its_slug(
    entity: str, caller: str, records: StoreRecords, execute_query: ExecuteQuery
) -> None:
    text = f"query($id: ID!) {{ {entity}(id: $id) {{ id slug }} }}"
    shown = (await execute_query(records.callers["admin"], text, id=records.ids[entity])).data[entity]
    response = await execute_query(records.callers[caller], by_slug(entity), slug=shown["slug"])
    assert response.errors == []
    assert response.data == {entity: shown}


@pytest.mark.parametrize("slug", ["prato", "oculta", "unknown", "", "CANECA", "a\x00b", "\ud800"])
@pytest.mark.parametrize("entity", ENTITIES)
async def test_a_hidden_or_absent_slug_is_null(
    entity: str, slug: str, records: StoreRecords, execute_query: ExecuteQuery
) -> None:
    response = await execute_query(records.callers["storefront"], by_slug(entity), slug=slug)
    assert (response.data, response.errors) == ({entity: None}, [])


@pytest.mark.parametrize("arguments", ["", '(id: "ID", slug: "caneca")', "(id: null)", "(id: null, slug: null)"])
async def test_exactly_one_of_id_and_slug_is_required(
    arguments: str, records: StoreRecords, execute_query: ExecuteQuery
) -> None:
    text = f"{{ product{arguments} {{ id }} store {{ name }} }}".replace("ID", records.ids["product"])
    response = await execute_query(records.callers["storefront"], text)
    assert response.data["product"] is None
    assert response.data["store"] is not None
    assert response.codes() == ["VALIDATION_FAILED"]
    assert response.errors[0]["message"] == "expected exactly one of id and slug"


async def _create(sample: SampleStore, entity: str, **fields: object) -> dict[str, str]:
    values = {"name": "Canções do Mar", **({"email": "a@example.com"} if entity == "vendor" else {}), **fields}
    return await _write(sample, f"{entity}_create(input: $input)", entity, values)


async def _write(sample: SampleStore, call: str, entity: str, values: dict[str, object]) -> dict[str, str]:
    text = f"mutation($input: {entity.title()}Input!) {{ record: {call} {{ id name slug }} }}"
    answer = await sample.post("/graphql", {"query": text, "variables": {"input": values}}, auth="bearer")
    assert "errors" not in answer.body, answer.body
    record: dict[str, str] = answer.body["data"]["record"]
    return record


@pytest.mark.parametrize("entity", MADE)
async def test_a_slug_is_made_from_the_name_and_a_taken_one_gets_a_suffix(entity: str, sample: SampleStore) -> None:
    slugs = [(await _create(sample, entity))["slug"] for _ in range(13)]
    assert slugs[:11] == ["cancoes-do-mar", *(f"cancoes-do-mar-{number}" for number in range(2, 12))]
    assert all(slug.startswith("cancoes-do-mar-") and len(slug) == len("cancoes-do-mar-") + 8 for slug in slugs[11:])
    chosen = await _create(sample, entity, slug="Peças & Partes")
    assert chosen["slug"] == "pecas-partes"
    assert (await _create(sample, entity, name="!!!"))["slug"] == entity
    assert len((await _create(sample, entity, name="palavra " * 30))["slug"]) <= 120


@pytest.mark.parametrize("entity", MADE)
async def test_a_renamed_record_keeps_its_slug_until_another_is_set(entity: str, sample: SampleStore) -> None:
    first, second = [await _create(sample, entity) for _ in range(2)]
    update = f'{entity}_update(id: "{second["id"]}", input: $input)'
    assert (await _write(sample, update, entity, {"name": "Outro"}))["slug"] == second["slug"]
    assert (await _write(sample, update, entity, {"slug": second["slug"]}))["slug"] == second["slug"]
    assert (await _write(sample, update, entity, {"slug": first["slug"]}))["slug"] == second["slug"]
    assert (await _write(sample, update, entity, {"slug": ""}))["slug"] == "outro"
    deleted = f"mutation($id: ID!) {{ {entity}_delete(id: $id) {{ id }} }}"
    answer = await sample.post("/graphql", {"query": deleted, "variables": {"id": first["id"]}}, auth="bearer")
    assert "errors" not in answer.body
    assert (await _write(sample, update, entity, {"slug": "cancoes-do-mar"}))["slug"] == "cancoes-do-mar"


@pytest.mark.parametrize("entity", MADE)
async def test_a_suffix_follows_a_long_slug_after_one_separator(entity: str, sample: SampleStore) -> None:
    cut_at_a_hyphen = "a" * 109 + " " + "b" * 10
    made = [(await _create(sample, entity, name=cut_at_a_hyphen))["slug"] for _ in range(12)]
    assert made[1:11] == ["a" * 109 + f"-{number}" for number in range(2, 12)]
    assert re.fullmatch("a{109}-[0-9a-f]{8}", made[11])
    path = f"{'c' * 109}/{'b' * 10}.html"
    assert [(await _create(sample, entity, slug=path))["slug"] for _ in range(2)] == [path, "c" * 109 + "-2"]


@pytest.mark.parametrize("entity", MADE)
async def test_long_slugs_are_kept_when_they_are_sent_back(entity: str, sample: SampleStore) -> None:
    made = [await _create(sample, entity, name="x" * 200) for _ in range(13)]
    chosen = [await _create(sample, entity, slug="y" * 255) for _ in range(2)]
    assert len(chosen[0]["slug"]) == 255
    assert len(chosen[1]["slug"]) < 255
    for record in (*made[:2], made[-1], *chosen):
        update = f'{entity}_update(id: "{record["id"]}", input: $input)'
        assert (await _write(sample, update, entity, {"slug": record["slug"]}))["slug"] == record["slug"]
    assert max(len(record["slug"]) for record in made) == 120


@pytest.mark.parametrize("entity", MADE)
async def test_concurrent_records_of_one_name_get_different_slugs(entity: str, sample: SampleStore) -> None:
    created = await asyncio.gather(*(_create(sample, entity) for _ in range(6)))
    assert len({record["slug"] for record in created}) == 6


async def test_stores_have_slugs_of_their_own(sample: SampleStore, other_sample: SampleStore) -> None:
    for store in (sample, other_sample):
        assert (await _create(store, "category"))["slug"] == "cancoes-do-mar"


async def test_a_category_shows_its_image(sample: SampleStore) -> None:
    text = """mutation($id: ID!, $image: CategoryImageInput) { category_update(id: $id, input: {image: $image}) {
        image { url alt } children { image { url } } } }"""
    category = await _create(sample, "category")
    shown = []
    for image in (
        {"url": "https://cdn.example/a.webp", "alt": "Mar"},
        {"url": "https://x.example/b.png"},
        None,
        {"url": "javascript:1"},
    ):
        body = {"query": text, "variables": {"id": category["id"], "image": image}}
        answer = await sample.post("/graphql", body, auth="bearer")
        changed = answer.body["data"]["category_update"]
        shown.append(changed["image"] if changed else answer.body["errors"][0]["extensions"]["details"])
    assert shown == [
        {"url": "https://cdn.example/a.webp", "alt": "Mar"},
        {"url": "https://x.example/b.png", "alt": ""},
        None,
        {"fields": {"image.url": "url_invalid"}},
    ]
