"""Lists carry the addresses of the previous and next page (docs/reference/shared.md#links)."""

from __future__ import annotations

import re

import pytest

from tests.harness.http import Response
from tests.harness.sample_store import SampleStore
from tests.harness.storefront import StorefrontClient

_LINK = re.compile(r'<([^>]*)>; rel="(\w+)"')


def links(answer: Response) -> dict[str, str]:
    return {name: target for target, name in _LINK.findall(answer.headers.get("Link", ""))}


async def test_following_next_reads_every_record_once_and_prev_leads_back(sample: SampleStore) -> None:
    total = (await sample.get("/api/v1/admin/products", auth="bearer")).body["total"]
    assert total > 3
    address = "/api/v1/admin/products?per_page=2&sort_by=name&search="
    pages, names = [address], []
    while address:
        answer = await sample.get(address, auth="bearer")
        names += [product["name"] for product in answer.body["products"]]
        address = links(answer).get("next", "")
        pages += [address] if address else []
    assert len(names) == total
    assert names == [
        product["name"]
        for product in (await sample.get("/api/v1/admin/products?sort_by=name", auth="bearer")).body["products"]
    ]
    last = await sample.get(pages[-1], auth="bearer")
    assert links(last) == {"prev": pages[-2]} or len(pages) == 2
    assert "prev" not in links(await sample.get(pages[0], auth="bearer"))


async def test_a_page_past_the_end_leads_back_to_the_last(sample: SampleStore) -> None:
    answer = await sample.get("/api/v1/admin/products?per_page=100&page=9", auth="bearer")
    assert links(answer) == {"prev": "/api/v1/admin/products?per_page=100&page=1"}


async def test_a_list_of_one_page_has_no_links(sample: SampleStore) -> None:
    assert "Link" not in (await sample.get("/api/v1/admin/products?per_page=100", auth="bearer")).headers


async def test_a_link_repeats_the_parameters_escaped(storefront: StorefrontClient) -> None:
    answer = await storefront.get("search?q=c%3E%22,%20c&limit=1&page=3")
    target = links(answer).get("prev", "")
    assert target.startswith("/api/v1/storefront/search?q=c%3E%22,+c&limit=1&page=")


@pytest.mark.parametrize("path", ["products", "search?q=zebra", "categories"])
async def test_storefront_lists_have_links(path: str, storefront: StorefrontClient) -> None:
    for name in ("Zebra azul", "Zebra verde"):
        await storefront.sample.add_product(name=name)
    answer = await storefront.get(f"{path}{'&' if '?' in path else '?'}limit=1")
    assert answer.body["total"] > 1
    following = await storefront.get(links(answer)["next"].removeprefix("/api/v1/storefront/"))
    assert following.body["page"] == 2
    assert links(following)["prev"].endswith("page=1")
