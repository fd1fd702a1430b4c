"""Images in the bodies of the legacy API, as base64 (docs/reference/legacy.md#products)."""

from __future__ import annotations

import gzip
import hashlib
import json
from base64 import b64encode
from collections.abc import Sequence
from typing import Any

import pytest

from domain.media.received import MAX_IMAGES
from domain.storage import Storage, storage
from tests.harness.sample_store import SampleStore
from tests.media.conftest import media_folder, renderer
from tests.media.pictures import encoded, picture, png_header

__all__ = ["media_folder", "renderer"]  # fixtures


@pytest.fixture(autouse=True)
def files(media_folder: Storage) -> Storage:
    return media_folder


def base64_of(content: bytes) -> str:
    return b64encode(content).decode()


def pair(content: bytes, kind: str = "detailed", **members: Any) -> dict[str, Any]:
    return {kind: {"image_data": base64_of(content), **members}}


def address(sample: SampleStore, content: bytes) -> str:
    return f"http://{sample.host}/media/{hashlib.sha256(content).hexdigest()}/ORIGINAL.png"


async def count_files(sample: SampleStore) -> int:
    stored = [each async for each in storage().find(f"media/{sample.store.public_id}/")]
    rows = await sample.value(
        "select count(*) from media_files where tenant_id = $1 and original_id is null", sample.store.id
    )
    assert rows == len(stored)
    return int(rows)


async def test_images_in_the_body_of_a_product_become_files(sample: SampleStore) -> None:
    main, more = encoded(".png"), encoded(".png", picture(30, 20))
    body = {
        "product": "Bule",
        "price": "10.00",
        "main_pair": pair(main, file_name="bule.png", alt="Bule"),
        "image_pairs": [pair(more)],
    }
    created = await sample.post("/api/products", body)
    assert created.status == 201, created
    record = (await sample.get(f"/api/products/{created.body['product_id']}")).body
    detailed = record["main_pair"]["detailed"]
    expected = {"image_path": address(sample, main), "alt": "Bule", "image_x": "120", "image_y": "80"}
    assert {name: detailed[name] for name in expected} == expected
    [other] = record["image_pairs"].values()
    assert other["detailed"]["image_path"] == address(sample, more)
    served = await sample.anonymous.get(f"/media/{hashlib.sha256(main).hexdigest()}/ORIGINAL.png")
    assert (served.status, served.raw) == (200, main)
    names = await sample.rows("select file_name from media_files where tenant_id = $1 order by id", sample.store.id)
    assert [name for (name,) in names] == ["bule.png", "image"]


async def test_a_record_with_a_file_that_is_sent_back_changes_nothing(sample: SampleStore) -> None:
    address_ = f"/api/products/{sample.mug}"
    await sample.put(address_, {"main_pair": pair(encoded(".png"))})
    record = (await sample.get(address_)).body
    own = record["main_pair"]["detailed"]["image_path"]
    for sent in (
        record["main_pair"],
        {"detailed": {"image_path": own}},
        {"detailed": {"image_path": own[own.index("/media/") :]}},
    ):
        assert (await sample.put(address_, {"main_pair": sent})).status == 200, sent
        assert (await sample.get(address_)).body["main_pair"] == record["main_pair"], sent
    assert await count_files(sample) == 1
    # What is sent with the old path is the new image.
    changed = {
        **record["main_pair"],
        "detailed": {**record["main_pair"]["detailed"], **pair(encoded(".png", picture(7, 7)))["detailed"]},
    }
    assert (await sample.put(address_, {"main_pair": changed})).status == 200
    assert (await sample.get(address_)).body["main_pair"]["detailed"]["image_path"] != own


async def test_images_of_variants_may_be_in_the_body(sample: SampleStore) -> None:
    contents = [encoded(".png", picture(10 + index, 10)) for index in range(4)]
    option = f"/api/options/{sample.size}"
    variants = [
        {"variant_name": "Pequena", "image_pair": pair(contents[0], "icon", alt="P")},
        {"variant_name": "Grande"},
    ]
    assert (await sample.put(option, {"variants": variants})).status == 200
    await _assert_icons(sample, option, [contents[0], None])
    assert (await sample.put(option, {"main_pair": pair(contents[1], "icon")})).status == 200
    await _assert_icons(sample, option, [contents[1], None])
    ids = (await sample.get(option)).body["variants"]
    numbered = {number: pair(content, "icon") for number, content in zip(ids, contents[2:], strict=True)}
    assert (await sample.put(option, {"main_pair": numbered})).status == 200
    await _assert_icons(sample, option, contents[2:])
    created = await sample.post(
        "/api/options", {"option_name": "Cor", "variants": variants, "product_id": str(sample.mug)}
    )
    assert created.status == 201
    await _assert_icons(sample, f"/api/options/{created.body['option_id']}", [contents[0], None])


async def _assert_icons(sample: SampleStore, option: str, expected: Sequence[bytes | None]) -> None:
    variants = (await sample.get(option)).body["variants"].values()
    shown = [variant["image_pair"].get("icon", {}).get("image_path") for variant in variants]
    assert shown == [None if content is None else address(sample, content) for content in expected]


@pytest.mark.combination
async def test_images_of_combinations_may_be_in_the_body(sample: SampleStore) -> None:
    base = f"/api/2.0/products/{sample.mug}/options/combinations"
    first, second = encoded(".png"), encoded(".png", picture(30, 20))
    changed = await sample.put(f"{base}/{sample.combination.number}", {"image_pairs": pair(first, alt="A")})
    assert changed.status == 200, changed
    shown = (await sample.get(f"{base}/{sample.combination.number}")).body["image_pairs"]["detailed"]
    assert (shown["image_path"], shown["alt"]) == (address(sample, first), "A")
    choices = {str(sample.size): str(sample.small), str(sample.print): str(sample.plain)}
    entry = {"combination": choices, "image_pairs": pair(second)}
    created = await sample.post(f"{base}/batch", {"combinations": [entry]})
    assert created.status == 201, created
    number = created.body["combinations"][0]["combination_id"]
    assert (await sample.get(f"{base}/{number}")).body["image_pairs"]["detailed"]["image_path"] == address(
        sample, second
    )


HUGE = png_header(20_000, 20_000)


@pytest.mark.parametrize(
    "detailed, message",
    [
        ({"image_data": "###"}, "main_pair.detailed.image_data is not base64"),
        ({"image_data": "YWJj ZGVm"}, "main_pair.detailed.image_data is not base64"),
        ({"image_data": "YWJjZ"}, "main_pair.detailed.image_data is not base64"),
        ({"image_data": "Y==="}, "main_pair.detailed.image_data is not base64"),
        ({"image_data": "data:image/png;base64,YWJj"}, "main_pair.detailed.image_data is not base64"),
        ({"image_data": "ação"}, "main_pair.detailed.image_data is not base64"),
        ({"image_data": "=="}, "main_pair.detailed.image_data is not base64"),
        ({"image_data": "\r\n"}, "image_data is empty"),
        ({"image_data": ""}, "image_data is empty"),
        (
            {"image_path": "C:\\mug.png"},
            "image_path is 'C:\\\\mug.png'; expected an http or https address, or the file as image_data",
        ),
        ({"image_data": 7}, "main_pair.detailed.image_data is 7; expected the file in base64"),
        ({"image_data": {"a": 1}}, "main_pair.detailed.image_data is"),
        ({"image_data": base64_of(b"no image")}, "image_data is refused: "),
        ({"image_data": base64_of(b"<svg xmlns='http://www.w3.org/2000/svg'/>")}, "image_data is refused: "),
        ({"image_data": base64_of(b"%PDF-1.7")}, "image_data is refused: "),
        ({"image_data": base64_of(encoded(".png")[:-60])}, "image_data is refused: "),
        ({"image_data": base64_of(HUGE)}, "image_data is refused: "),
        ({"image_data": base64_of(encoded(".png")), "file_name": "x" * 256}, "file_name has 256 characters"),
        ({"image_data": base64_of(encoded(".png")), "file_name": {"a": 1}}, "main_pair.detailed.file_name is"),
    ],
)
async def test_image_data_that_is_no_image_changes_nothing(sample: SampleStore, detailed: Any, message: str) -> None:
    product = f"/api/products/{sample.mug}"
    before = (await sample.get(product)).body
    # The other image is right: nothing of the request is stored.
    body = {"product": "Outra", "main_pair": {"detailed": detailed}, "image_pairs": [pair(encoded(".png"))]}
    for refused in (await sample.put(product, body), await sample.post("/api/products", {**body, "price": "1"})):
        assert (refused.status, set(refused.body)) == (400, {"status", "message"})
        assert message in refused.body["message"]
    assert (await sample.get(product)).body == before
    assert await count_files(sample) == 0


async def test_line_breaks_of_base64_are_ignored(sample: SampleStore) -> None:
    content = encoded(".png")
    text = base64_of(content)
    lines = "\r\n".join(text[index : index + 76] for index in range(0, len(text), 76))
    changed = await sample.put(f"/api/products/{sample.mug}", {"main_pair": {"detailed": {"image_data": lines}}})
    assert changed.status == 200
    form = f"main_pair[detailed][image_data]={text.replace('+', '%2B')}&main_pair[detailed][file_name]=a.png"
    changed = await sample.put(
        f"/api/products/{sample.plate}",
        data=form.encode(),
        headers={"Content-Type": "application/x-www-form-urlencoded"},
    )
    assert changed.status == 200, changed
    assert await count_files(sample) == 1


async def test_bodies_with_images_have_the_limits_of_other_bodies(sample: SampleStore) -> None:
    product = f"/api/products/{sample.mug}"
    large = {"main_pair": {"detailed": {"image_data": "A" * (2 * 1024 * 1024)}}}
    assert (await sample.put(product, large)).status == 413
    bomb = gzip.compress(json.dumps({"main_pair": {"detailed": {"image_data": "A" * 30_000_000}}}).encode())
    headers = {"Content-Type": "application/json", "Content-Encoding": "gzip"}
    assert (await sample.put(product, data=bomb, headers=headers)).status == 413
    tiny = pair(encoded(".png", picture(2, 2)))
    many = await sample.put(product, {"image_pairs": [tiny] * (MAX_IMAGES + 1)})
    assert (many.status, many.body["message"]) == (400, "there are 51 images in the body; expected at most 50")
    assert await count_files(sample) == 0


async def test_only_who_may_write_the_record_stores_its_image(sample: SampleStore) -> None:
    reader = await sample.add_user("view_catalog", "view_products")
    refused = await sample.put(f"/api/products/{sample.mug}", {"main_pair": pair(encoded(".png"))}, by=reader)
    assert refused.status == 403
    assert await count_files(sample) == 0
