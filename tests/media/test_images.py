"""Images of records: a file of the store or a link, in GraphQL (docs/reference/graphql.md#media)."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest

from models.tables.media import MediaFile
from tests.harness.records import Record
from tests.harness.row_versions import changed_tables, row_versions
from tests.harness.sample_store import SampleStore

LINK = "https://img.example.com/a.png"
IMAGE = "url alt width height blurhash status media_id"

# By entity: the record that is updated, the member of its input, and how its images are selected.
RECORDS = {
    "product": ("mug", "images", "images"),
    "category": ("kitchen", "image", "image"),
    "page": ("page", "image", "image"),
    "vendor": ("vendor", "image", "image"),
    "user": ("caio", "image", "image"),
    "review": ("review", "images", "images"),
}


async def add_file(sample: SampleStore, **columns: Any) -> Record:
    """Insert a ready image of 900 x 600 pixels."""
    values = {"sha256": uuid4().hex * 2, "mime_type": "image/jpeg", "bytes": 9_000, "width": 900, "height": 600}
    return await sample.add(MediaFile, **{**values, "blurhash": "LEHV6n", "status": "ready", **columns})


async def graphql(sample: SampleStore, text: str, **variables: Any) -> Any:
    """Return the data of a document that the owner sends."""
    answer = await sample.post("/graphql", {"query": text, "variables": variables}, auth="bearer")
    assert "errors" not in answer.body, answer.body
    return answer.body["data"]


async def refused(sample: SampleStore, text: str, **variables: Any) -> dict[str, str]:
    """Return the codes by field with which a document of the owner is refused."""
    answer = await sample.post("/graphql", {"query": text, "variables": variables}, auth="bearer")
    fields: dict[str, str] = answer.body["errors"][0]["extensions"]["details"]["fields"]
    return fields


async def update(sample: SampleStore, entity: str, image: Any, *, selected: str = IMAGE) -> Any:
    """Set the image of a record and return the first one."""
    record, member, shown = RECORDS[entity]
    text = f"""mutation($id: ID!, $input: {entity.capitalize()}Input!) {{
        {entity}_update(id: $id, input: $input) {{ {shown} {{ {selected} }} }} }}"""
    value = [image] if member == "images" else image
    data = await graphql(sample, text, id=getattr(sample, record).id, input={member: value})
    images = data[f"{entity}_update"][shown]
    return images[0] if isinstance(images, list) else images


async def digest(sample: SampleStore, file: Record) -> str:
    value: str = await sample.value("select sha256 from media_files where id = $1", file.number)
    return value


@pytest.mark.parametrize("entity", RECORDS)
async def test_a_record_shows_the_file_it_refers_to(sample: SampleStore, entity: str) -> None:
    file = await add_file(sample, alt="Do arquivo")
    image = await update(sample, entity, {"media_id": file.id})
    assert image == {
        "url": f"http://{sample.host}/media/{await digest(sample, file)}/ORIGINAL.jpeg",
        "alt": "Do arquivo",
        "width": 900,
        "height": 600,
        "blurhash": "LEHV6n",
        "status": "ready",
        "media_id": file.id,
    }
    assert (await update(sample, entity, {"media_id": file.id, "alt": "Do registro"}))["alt"] == "Do registro"


@pytest.mark.parametrize("entity", RECORDS)
async def test_a_record_shows_the_link_that_was_sent(sample: SampleStore, entity: str) -> None:
    image = await update(sample, entity, {"url": LINK, "alt": "Caneca"})
    assert (image["url"], image["alt"], image["status"], image["media_id"]) == (LINK, "Caneca", None, None)
    assert image["blurhash"] is None


async def test_an_image_has_an_address_in_each_size_and_format(sample: SampleStore) -> None:
    file = await add_file(sample)
    selected = """small: url(size: W64, format: WEBP) auto: url(size: W512) original: url(size: ORIGINAL) png: url(format: PNG)
        srcset(format: AVIF)"""
    image = await update(sample, "product", {"media_id": file.id}, selected=selected)
    base = f"http://{sample.host}/media/{await digest(sample, file)}"
    assert image == {
        "small": f"{base}/64.webp",
        "auto": f"{base}/512.auto",
        "original": f"{base}/ORIGINAL.jpeg",
        "png": f"{base}/2048.png",
        # 900 pixels wide: the size of 1,024 shows all of them, that of 2,048 no more.
        "srcset": ", ".join(
            f"{base}/{size}.avif {width}w"
            for size, width in ((64, 64), (128, 128), (256, 256), (512, 512), (1024, 900))
        ),
    }


async def test_the_widths_of_an_upright_image_follow_its_height(sample: SampleStore) -> None:
    file = await add_file(sample, width=100, height=200)
    image = await update(sample, "product", {"media_id": file.id}, selected="srcset")
    widths = [entry.rsplit(" ", 1)[1] for entry in image["srcset"].split(", ")]
    assert widths == ["32w", "64w", "100w"]


async def test_a_link_has_one_address_in_all_sizes(sample: SampleStore) -> None:
    image = await update(sample, "product", {"url": LINK}, selected="url(size: W64, format: WEBP) srcset")
    assert image == {"url": LINK, "srcset": None}


@pytest.mark.parametrize("status", ["pending", "failed"])
async def test_a_file_that_is_not_fetched_shows_its_source(sample: SampleStore, status: str) -> None:
    file = await add_file(
        sample, sha256=None, mime_type="", width=0, height=0, blurhash="", status=status, source_url=LINK
    )
    image = await update(sample, "product", {"media_id": file.id}, selected=f"{IMAGE} small: url(size: W64)")
    assert (image["url"], image["small"], image["status"]) == (LINK, LINK, status)


@pytest.mark.parametrize("entity", RECORDS)
async def test_what_a_record_shows_may_be_sent_back(sample: SampleStore, entity: str) -> None:
    file = await add_file(sample)
    shown = await update(sample, entity, {"media_id": file.id, "alt": "Caneca"})
    before = await row_versions(sample.store)
    for image in ({"url": shown["url"], "alt": "Caneca"}, {"media_id": file.id, "alt": "Caneca"}):
        assert await update(sample, entity, image) == shown
    assert changed_tables(before, await row_versions(sample.store)) == []


@pytest.mark.parametrize("entity", RECORDS)
async def test_an_image_that_the_record_has_keeps_its_text(sample: SampleStore, entity: str) -> None:
    assert (await update(sample, entity, {"url": LINK, "alt": "Caneca"}))["alt"] == "Caneca"
    assert (await update(sample, entity, {"url": LINK}))["alt"] == "Caneca"
    assert (await update(sample, entity, {"url": LINK, "alt": ""}))["alt"] == ""
    await update(sample, entity, {"url": LINK, "alt": "Caneca"})
    other = await update(sample, entity, {"url": "https://img.example.com/b.png"})
    assert (other["url"], other["alt"]) == ("https://img.example.com/b.png", "")


async def test_logos_and_banners_keep_their_texts(sample: SampleStore) -> None:
    logo = "mutation($logo: ImageInput) { store_update(input: {logo: $logo}) { logo { alt } } }"
    banner = "mutation($id: ID!, $banner: ImageInput) { vendor_update(id: $id, input: {banner: $banner}) { banner { alt } } }"
    for image, alt in (
        ({"url": LINK, "alt": "Loja"}, "Loja"),
        ({"url": LINK}, "Loja"),
        ({"url": "https://img.example.com/b.png"}, ""),
    ):
        assert (await graphql(sample, logo, logo=image))["store_update"]["logo"]["alt"] == alt, image
        data = await graphql(sample, banner, id=sample.vendor.id, banner=image)
        assert data["vendor_update"]["banner"]["alt"] == alt, image


async def test_variants_and_combinations_have_images_too(sample: SampleStore) -> None:
    file = await add_file(sample)
    url = f"http://{sample.host}/media/{await digest(sample, file)}/ORIGINAL.jpeg"
    created = await graphql(
        sample,
        """mutation($input: OptionInput!) { option_create(input: $input)
            { id variants { id image_url image_alt image { url media_id } } } }""",
        input={
            "name": "Cor",
            "product_id": sample.mug.id,
            "variants": [
                {"name": "Azul", "image": {"media_id": file.id, "alt": "Azul"}},
                {"name": "Verde", "image_url": LINK},
                {"name": "Cinza", "image_url": url},
            ],
        },
    )
    option = created["option_create"]
    assert [{**variant, "id": None} for variant in option["variants"]] == [
        {"id": None, "image_url": url, "image_alt": "Azul", "image": {"url": url, "media_id": file.id}},
        {"id": None, "image_url": LINK, "image_alt": "", "image": {"url": LINK, "media_id": None}},
        {"id": None, "image_url": url, "image_alt": "", "image": {"url": url, "media_id": file.id}},
    ]
    combination = await graphql(
        sample,
        "mutation($input: CombinationInput!) { combination_create(input: $input) { image_url image { url width media_id } } }",
        input={
            "product_id": sample.mug.id,
            "choices": [{"option_id": option["id"], "variant_id": option["variants"][0]["id"]}],
            "image": {"media_id": file.id},
        },
    )
    assert combination["combination_create"] == {
        "image_url": url,
        "image": {"url": url, "width": 900, "media_id": file.id},
    }


PRODUCT_UPDATE = "mutation($id: ID!, $input: ProductInput!) { product_update(id: $id, input: $input) { id } }"


async def test_an_image_is_a_file_or_a_link(sample: SampleStore) -> None:
    file = await add_file(sample)
    for image, field, code in (
        ({"media_id": file.id, "url": LINK}, "images.url", "url_invalid"),
        ({"alt": "x"}, "images.url", "required"),
        ({"media_id": "01900000-0000-7000-8000-000000000000"}, "images.media_id", "not_found"),
        ({"media_id": "nonsense"}, "images.media_id", "not_found"),
    ):
        fields = await refused(sample, PRODUCT_UPDATE, id=sample.mug.id, input={"images": [image]})
        assert fields == {field: code}, image


async def test_a_file_that_is_no_image_or_not_uploaded_is_refused(sample: SampleStore) -> None:
    document = await add_file(sample, mime_type="application/pdf")
    awaited = await add_file(sample, sha256=None, status="pending")
    for file, code in ((document, "media_invalid"), (awaited, "media_incomplete")):
        fields = await refused(sample, PRODUCT_UPDATE, id=sample.mug.id, input={"images": [{"media_id": file.id}]})
        assert fields == {"images.media_id": code}


async def test_another_stores_file_does_not_exist(sample: SampleStore, other_sample: SampleStore) -> None:
    file = await add_file(other_sample)
    fields = await refused(sample, PRODUCT_UPDATE, id=sample.mug.id, input={"images": [{"media_id": file.id}]})
    assert fields == {"images.media_id": "not_found"}
    address = f"http://{other_sample.host}/media/{await digest(other_sample, file)}/ORIGINAL.jpeg"
    image = await update(sample, "product", {"url": address})
    assert (image["url"], image["media_id"]) == (address, None)


async def test_a_customer_shows_own_uploads_only(sample: SampleStore) -> None:
    client = await sample.client(sample.caio)
    own = await add_file(sample, user_id=sample.caio.number)
    other = await add_file(sample)
    text = "mutation($id: ID!, $input: UserInput!) { user_update(id: $id, input: $input) { image { media_id } } }"
    for image, field in (({"media_id": other.id}, "image.media_id"), ({"url": LINK}, "image.url")):
        answer = await client.post(
            "/graphql", {"query": text, "variables": {"id": sample.caio.id, "input": {"image": image}}}
        )
        assert [*answer.body["errors"][0]["extensions"]["details"]["fields"]] == [field], image
    answer = await client.post(
        "/graphql", {"query": text, "variables": {"id": sample.caio.id, "input": {"image": {"media_id": own.id}}}}
    )
    assert answer.body["data"]["user_update"]["image"] == {"media_id": own.id}


async def test_events_of_products_have_the_addresses_of_files(sample: SampleStore) -> None:
    file = await add_file(sample)
    image = await update(sample, "product", {"media_id": file.id})
    data = await sample.value(
        "select data from outbox_events where tenant_id = $1 and name = 'product.updated' order by id desc limit 1",
        sample.store.id,
    )
    assert image["url"] in data


async def test_the_legacy_api_shows_the_address_of_the_file(sample: SampleStore) -> None:
    file = await add_file(sample)
    image = await update(sample, "product", {"media_id": file.id})
    answer = await sample.get(f"/api/products/{sample.mug.number}")
    detailed = answer.body["main_pair"]["detailed"]
    assert (detailed["image_path"], detailed["image_x"]) == (image["url"], "900")
