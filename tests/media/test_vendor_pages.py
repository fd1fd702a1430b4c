"""What the page of a vendor shows, and how customers reach the store (docs/reference/graphql.md#what-a-shop-shows)."""

from __future__ import annotations

from typing import Any

from domain.media import usage
from models.tables.catalog import Product
from models.tables.marketplace import DiscussionPost, DiscussionThread
from tests.harness.row_versions import changed_tables, row_versions
from tests.harness.sample_store import SampleStore
from tests.media.test_images import IMAGE, LINK, add_file, digest, graphql, refused

_SHOWN = f"description average_rating review_count image {{ {IMAGE} }} banner {{ {IMAGE} }}"
UPDATE = f"mutation($id: ID!, $input: VendorInput!) {{ vendor_update(id: $id, input: $input) {{ {_SHOWN} }} }}"
READ = f"query($id: ID!) {{ vendor(id: $id) {{ {_SHOWN} }} }}"


async def update(sample: SampleStore, **values: Any) -> Any:
    return (await graphql(sample, UPDATE, id=sample.vendor.id, input=values))["vendor_update"]


async def seen_by_customer(sample: SampleStore) -> Any:
    client = await sample.client(sample.caio)
    answer = await client.post("/graphql", {"query": READ, "variables": {"id": sample.vendor.id}})
    assert "errors" not in answer.body, answer.body
    return answer.body["data"]["vendor"]


async def test_shoppers_see_the_banner_and_the_description_of_a_vendor(sample: SampleStore) -> None:
    file = await add_file(sample)
    await update(sample, description="<p>Desde 1950</p>", banner={"media_id": file.id, "alt": "Oficina"})
    shown = await seen_by_customer(sample)
    assert shown["description"] == "<p>Desde 1950</p>"
    assert (shown["banner"]["media_id"], shown["banner"]["alt"]) == (file.id, "Oficina")
    assert await digest(sample, file) in shown["banner"]["url"]
    assert shown["image"] is None, "the banner is not the logo"


async def test_a_vendor_changes_its_own_banner(sample: SampleStore) -> None:
    body = {"query": UPDATE, "variables": {"id": sample.vendor.id, "input": {"banner": {"url": LINK}}}}
    answer = await sample.post("/graphql", body, auth="bearer", by=sample.vendor_user)
    assert "errors" not in answer.body, answer.body
    assert answer.body["data"]["vendor_update"]["banner"]["url"] == LINK


async def test_the_same_banner_changes_nothing_and_null_removes_it(sample: SampleStore) -> None:
    await update(sample, banner={"url": LINK, "alt": "Vitrine"})
    before = await row_versions(sample.store)
    await update(sample, banner={"url": LINK, "alt": "Vitrine"})
    assert changed_tables(before, await row_versions(sample.store)) == []
    assert (await update(sample, banner=None))["banner"] is None
    assert await sample.value("select count(*) from vendor_banners") == 0


async def test_the_file_of_a_banner_is_used(sample: SampleStore) -> None:
    file = await add_file(sample)
    await update(sample, banner={"media_id": file.id})
    is_used = f"select {usage.IS_USED} from media_files f where f.public_id = $1"
    assert await sample.value(is_used, file.id) is True


async def test_a_wrong_banner_is_named(sample: SampleStore) -> None:
    errors = await refused(sample, UPDATE, id=sample.vendor.id, input={"banner": {"url": "ftp://x.example/b.png"}})
    assert errors == {"banner.url": "url_invalid"}


async def test_ratings_of_a_vendor_are_those_of_its_products(sample: SampleStore) -> None:
    await sample.execute("delete from discussion_posts")
    product = await sample.add(Product, name="Bule", slug="bule-novo", price_cents=1, vendor_id=sample.vendor.number)
    thread = await sample.add(DiscussionThread, object_type="P", object_id=product.number)
    for rating, status in ((5, "A"), (2, "A"), (1, "P")):
        await sample.add(DiscussionPost, thread_id=thread.number, rating=rating, status=status)
    shown = await seen_by_customer(sample)
    assert (shown["average_rating"], shown["review_count"]) == (3.5, 2)


async def test_shoppers_see_how_to_reach_the_store(sample: SampleStore) -> None:
    text = "{ store { contact { email phone address } social_links { network name url } } }"
    client = await sample.client(sample.caio)
    empty = (await client.post("/graphql", {"query": text})).body["data"]["store"]
    assert empty == {"contact": {"email": None, "phone": None, "address": None}, "social_links": []}
    settings = {
        "support_email": "oi@loja.example",
        "support_phone": "11 3000-0000",
        "contact_address": "Rua A, 1, São Paulo",
        "social_x": "https://x.example/loja",
        "social_instagram": "https://instagram.example/loja",
    }
    change = "mutation($settings: JSON!) { store_settings_update(settings: $settings) { id } }"
    await graphql(sample, change, settings=settings)
    assert (await client.post("/graphql", {"query": text})).body["data"]["store"] == {
        "contact": {"email": "oi@loja.example", "phone": "11 3000-0000", "address": "Rua A, 1, São Paulo"},
        "social_links": [
            {"network": "instagram", "name": "Instagram", "url": "https://instagram.example/loja"},
            {"network": "x", "name": "X", "url": "https://x.example/loja"},
        ],
    }
