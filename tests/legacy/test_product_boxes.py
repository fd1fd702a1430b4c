"""Check product boxes and their descriptions."""

import pytest

from tests.harness.sample_store import SampleStore


@pytest.mark.parametrize("slash", ["", "/"])
async def test_boxes_are_listed(sample, slash):
    answer = await sample.get(f"/api/productBoxes{slash}")
    assert (answer.status, list(answer.body)) == (200, ["boxes"])
    assert answer.body["boxes"] == [
        {
            "box_id": sample.box.number,
            "name": "Caixa P",
            "height": "10.5",
            "width": "20.0",
            "length": "30.0",
            "weight": "0.150",
            "max_weight": "5.000",
            "status": "A",
        },
        {
            "box_id": sample.bare_box.number,
            "name": "Envelope",
            "height": "0.0",
            "width": "0.0",
            "length": "0.0",
            "weight": "0.000",
            "max_weight": "0.000",
            "status": "A",
        },
    ]
    assert (await sample.get(f"/api/productBoxes/{sample.box}{slash}")).body == answer.body["boxes"][0]


DESCRIPTION = {
    "lang_code": "pt",
    "title": "Caixa pequena",
    "full_description": "",
    "meta_keywords": "",
    "meta_description": "",
}


@pytest.mark.parametrize("slash", ["", "/"])
async def test_descriptions_are_listed(sample, slash):
    answer = await sample.get(f"/api/productBoxesDescriptions{slash}")
    record = {"description_id": sample.box_description.number, "box_id": sample.box.number, **DESCRIPTION}
    assert (answer.status, answer.body) == (200, {"descriptions": [record]})
    one = await sample.get(f"/api/productBoxesDescriptions/{sample.box}{slash}")
    assert (one.status, one.body) == (200, record)


async def test_a_box_without_description_is_404(sample):
    answer = await sample.get(f"/api/productBoxesDescriptions/{sample.bare_box}")
    assert (answer.status, answer.body) == (404, {"status": 404, "message": "Box not found"})


async def graphql(sample: SampleStore, text: str, **variables):
    answer = await sample.post("/graphql", {"query": text, "variables": variables}, auth="bearer")
    assert answer.status == 200, answer.raw
    assert "errors" not in answer.body, answer.body
    return answer.body["data"]


async def test_graphql_creates_describes_and_deletes_boxes(sample):
    created = await graphql(
        sample,
        "mutation($i: ProductBoxInput!) { product_box_create(input: $i) { id height_mm } }",
        i={"name": "Caixa G", "height_mm": 400},
    )
    box = created["product_box_create"]["id"]
    for code in ("en", "pt-BR"):
        await graphql(
            sample,
            "mutation($i: BoxDescriptionInput!) { box_description_create(input: $i) { id } }",
            i={"box_id": box, "lang_code": code, "title": f"Box {code}"},
        )
    titles = {
        code: (await sample.get(f"/api/productBoxesDescriptions/{box}?lang_code={code}")).body["title"]
        for code in ("en", "pt-BR", "fr", "")
    }
    assert titles == {"en": "Box en", "pt-BR": "Box pt-BR", "fr": "Box pt-BR", "": "Box pt-BR"}
    await graphql(sample, "mutation($id: ID!) { product_box_delete(id: $id) { id } }", id=box)
    for path in (f"productBoxes/{box}", f"productBoxesDescriptions/{box}"):
        assert (await sample.get(f"/api/{path}")).status == 404
    descriptions = (await sample.get("/api/productBoxesDescriptions")).body["descriptions"]
    assert [row["title"] for row in descriptions] == ["Caixa pequena"]
