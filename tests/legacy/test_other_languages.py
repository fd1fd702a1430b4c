"""An update in another language than the store's first leaves the texts of a record, which are in that one."""

from __future__ import annotations

from typing import Any

import pytest

from tests.harness.sample_store import NewSampleStore, SampleStore

UPDATES: list[tuple[str, str, dict[str, Any], dict[str, Any]]] = [
    ("products", "mug", {"product": "Mug", "full_description": "Tin", "page_title": "Mug"}, {"weight": "0.700"}),
    ("categories", "home", {"category": "Home", "meta_keywords": "a"}, {"position": "9"}),
    ("features", "colour", {"description": "Colour", "variants": [{"variant": "Blue"}]}, {"position": "9"}),
    ("options", "print", {"option_name": "Print", "variants": {}}, {"position": "9"}),
    ("payments", "pix", {"payment": "Instant", "instructions": "Pay"}, {"position": "9"}),
    ("shippings", "sedex", {"shipping": "Express"}, {"position": "9"}),
    ("taxes", "icms", {"tax": "VAT"}, {"priority": "9"}),
    ("usergroups", "wholesale", {"usergroup": "Wholesale"}, {"status": "D"}),
    ("stores", "vendor", {"company_description": "We make mugs", "page_title": "Mugs"}, {"city": "Olinda"}),
    ("promotions", "ten", {"name": "Ten percent"}, {"priority": "9"}),
]


async def update(sample: SampleStore, path: str, body: dict[str, Any]) -> tuple[list[str], Any]:
    answer = await sample.put(path, body)
    assert answer.status == 200, answer.raw
    ignored = [name for name in answer.headers.get("X-Ignored-Fields", "").split(", ") if name]
    return ignored, (await sample.get(path.partition("?")[0])).body


@pytest.mark.combination
@pytest.mark.parametrize(
    "entity, record, texts, others", UPDATES, ids=[f"{entity}-{record}" for entity, record, _, _ in UPDATES]
)
async def test_an_update_in_another_language_changes_all_but_the_texts(
    entity: str, record: str, texts: dict[str, Any], others: dict[str, Any], new_sample: NewSampleStore
) -> None:
    sample = await new_sample(combination=True, legacy_lists="cscart")
    path = f"/api/{entity}/{getattr(sample, record)}"
    before = (await sample.get(path)).body
    ignored, after = await update(sample, f"{path}?sl=en", {**texts, **others})
    assert sorted(ignored) == sorted(texts)
    assert after == before | others | {name: after[name] for name in ("updated_timestamp",) if name in after}
    ignored, after = await update(sample, path, {**texts, "lang_code": "en"})
    assert {name: after[name] for name in texts} == {name: before[name] for name in texts}
    code = next(iter((await sample.get("/api/languages")).body["languages"].values()))["lang_code"]
    text = next(iter(texts))
    ignored, after = await update(sample, f"{path}?sl={code.upper()}", {text: texts[text]})
    assert (ignored, after[text]) == ([], texts[text])


@pytest.mark.parametrize(
    "entity, text, others",
    [("pages", "page", {"position": "9"}), ("blocks", "name", {"properties": {"width": "9"}})],
)
async def test_the_texts_of_pages_and_blocks_are_in_the_language_of_each(
    entity: str, text: str, others: dict[str, Any], new_sample: NewSampleStore
) -> None:
    sample = await new_sample(legacy_lists="cscart")
    created = await sample.post(f"/api/{entity}", {"type": "html", text: "Sobre"})
    path = f"/api/{entity}/{next(iter(created.body.values()))}"
    own = (await sample.get(path)).body["lang_code"]
    ignored, after = await update(sample, f"{path}?sl=xx", {text: "About", **others})
    assert (ignored, after[text]) == ([text], "Sobre")
    assert {name: after[name] for name in others} == others
    ignored, after = await update(sample, f"{path}?sl={own}", {text: "Sobre nós", "lang_code": own})
    assert (ignored, after[text]) == ([], "Sobre nós")


async def test_the_contract_knows_no_language_of_updates(sample: SampleStore) -> None:
    ignored, after = await update(sample, f"/api/products/{sample.mug}?sl=en", {"product": "Mug"})
    assert (ignored, after["product"]) == ([], "Mug")
