"""The store's logo: an image in GraphQL, a link in its settings (docs/reference/graphql.md#media)."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

from domain.media import usage
from domain.media.fetching import ClaimedFile, FileContent, mark_ready
from kernel.scope import active_scope
from tests.harness.row_versions import changed_tables, row_versions
from tests.harness.sample_store import SampleStore
from tests.media.test_images import IMAGE, LINK, add_file, digest, graphql, refused

UPDATE = f"mutation($input: StoreInput!) {{ store_update(input: $input) {{ name logo {{ {IMAGE} }} }} }}"
SETTINGS = (
    f"mutation($settings: JSON!) {{ store_settings_update(settings: $settings) {{ settings logo {{ {IMAGE} }} }} }}"
)


async def set_logo(sample: SampleStore, logo: Any) -> Any:
    return (await graphql(sample, UPDATE, input={"logo": logo}))["store_update"]["logo"]


async def set_link(sample: SampleStore, link: str) -> tuple[str, Any]:
    """Set the setting; return its value and the logo."""
    store = (await graphql(sample, SETTINGS, settings={"logo_url": link}))["store_settings_update"]
    return store["settings"]["logo_url"], store["logo"]


async def test_shoppers_see_the_logo_in_all_sizes(sample: SampleStore) -> None:
    file = await add_file(sample)
    base = f"http://{sample.host}/media/{await digest(sample, file)}"
    assert await set_logo(sample, {"media_id": file.id, "alt": "Loja"}) == {
        "url": f"{base}/ORIGINAL.jpeg",
        "alt": "Loja",
        "width": 900,
        "height": 600,
        "blurhash": "LEHV6n",
        "status": "ready",
        "media_id": file.id,
    }
    text = "{ store { name logo { alt small: url(size: W64, format: WEBP) srcset(format: PNG) } } }"
    answer = await (await sample.client(sample.caio)).post("/graphql", {"query": text})
    assert "errors" not in answer.body, answer.body
    logo = answer.body["data"]["store"]["logo"]
    assert (logo["alt"], logo["small"]) == ("Loja", f"{base}/64.webp")
    assert logo["srcset"].startswith(f"{base}/64.png 64w, ")


async def test_a_store_without_a_logo_has_none(sample: SampleStore) -> None:
    file = await add_file(sample)
    await set_logo(sample, {"media_id": file.id})
    assert await set_logo(sample, None) is None
    assert await sample.value("select settings ? 'logo_url' from tenants where id = $1", sample.store.id) is False
    assert (await graphql(sample, "{ store { logo { url } } }"))["store"]["logo"] is None


async def test_the_setting_and_the_logo_are_one(sample: SampleStore) -> None:
    file = await add_file(sample)
    path = f"/media/{await digest(sample, file)}/ORIGINAL.jpeg"
    url = f"http://{sample.host}{path}"
    setting, logo = await set_link(sample, LINK)
    assert (setting, logo["url"], logo["media_id"]) == (LINK, LINK, None)
    setting, logo = await set_link(sample, url)
    assert (setting, logo["url"], logo["media_id"]) == (path, url, file.id)
    await set_logo(sample, {"url": LINK, "alt": "Loja"})
    assert await set_link(sample, LINK) == (LINK, await set_logo(sample, {"url": LINK, "alt": "Loja"}))
    assert await set_link(sample, "") == ("", None)
    assert await sample.value("select count(*) from store_logos where tenant_id = $1", sample.store.id) == 0


async def test_a_setting_that_is_changed_alone_is_the_logo(sample: SampleStore) -> None:
    """As a version of the program without files of logos changes it."""
    file = await add_file(sample)
    await set_logo(sample, {"media_id": file.id, "alt": "Loja"})
    await sample.execute(
        """update tenants set settings = settings || '{"logo_url": "https://x.example/b.png"}' where id = $1""",
        sample.store.id,
    )
    logo = (await graphql(sample, "{ store { logo { url alt media_id } } }"))["store"]["logo"]
    assert logo == {"url": "https://x.example/b.png", "alt": "", "media_id": None}


async def test_a_link_is_fetched_with_the_setting_image_copies(sample: SampleStore) -> None:
    await graphql(sample, SETTINGS, settings={"image_copies": True})
    logo = await set_logo(sample, {"url": LINK})
    assert (logo["url"], logo["status"]) == (LINK, "pending")
    assert (await set_link(sample, "https://x.example/b.png"))[1]["status"] == "pending"


async def test_the_logo_follows_a_source_that_has_the_content_of_another_file(sample: SampleStore) -> None:
    same = await add_file(sample)
    file = await add_file(
        sample, sha256=None, status="pending", source_url=LINK, attempts=1, next_attempt_at=sample.scope.now
    )
    await set_logo(sample, {"media_id": file.id, "alt": "Loja"})
    with active_scope(sample.scope):
        content = FileContent(await digest(sample, same), "image/jpeg", 9_000, 900, 600)
        claimed = ClaimedFile(sample.store.id, file.number, sample.store.public_id, LINK, "", "", 1)
        assert await mark_ready(sample.scope, claimed, content)
    logo = (await graphql(sample, "{ store { logo { alt media_id } } }"))["store"]["logo"]
    assert logo == {"alt": "Loja", "media_id": same.id}


async def test_what_the_store_shows_may_be_sent_back_and_writes_nothing(sample: SampleStore) -> None:
    file = await add_file(sample)
    shown = await set_logo(sample, {"media_id": file.id, "alt": "Loja"})
    before = await row_versions(sample.store)
    for logo in ({"url": shown["url"], "alt": "Loja"}, {"media_id": file.id, "alt": "Loja"}):
        assert await set_logo(sample, logo) == shown
    for link in (shown["url"], f"/media/{await digest(sample, file)}/ORIGINAL.jpeg"):
        assert (await set_link(sample, link))[1] == shown
    assert changed_tables(before, await row_versions(sample.store)) == []


async def test_a_wrong_logo_is_refused_and_nothing_else_is_changed(sample: SampleStore) -> None:
    document = await add_file(sample, mime_type="application/pdf")
    for logo, field, code in (
        ({"url": "javascript:alert(1)"}, "logo.url", "url_invalid"),
        ({"url": "/a.png"}, "logo.url", "url_invalid"),
        ({"url": f"https://x.example/{'a' * 255}"}, "logo.url", "url_invalid"),
        ({}, "logo.url", "required"),
        ({"media_id": document.id}, "logo.media_id", "media_invalid"),
        ({"media_id": "01900000-0000-7000-8000-000000000000"}, "logo.media_id", "not_found"),
    ):
        fields = await refused(sample, UPDATE, input={"name": "Outra", "logo": logo})
        assert fields == {field: code}, logo
    store = (await graphql(sample, "{ store { name logo { url } } }"))["store"]
    assert store == {"name": sample.store.name, "logo": None}


async def test_the_file_of_the_logo_is_not_deleted(sample: SampleStore) -> None:
    file = await add_file(sample)
    await set_logo(sample, {"media_id": file.id})
    answer = await sample.post(
        "/graphql", {"query": f'mutation {{ media_delete(id: "{file.id}") {{ id }} }}'}, auth="bearer"
    )
    assert answer.body["errors"][0]["extensions"]["code"] == "RULE_VIOLATION"
    later = replace(sample.scope, now=sample.scope.now + timedelta(days=30))
    with active_scope(later):
        await usage.unused_files(sample.scope, limit=100)
        await usage.unused_files(later, limit=100)
    assert await sample.value("select unused_since from media_files where id = $1", file.number) is None


async def test_every_table_that_refers_to_files_keeps_them(sample: SampleStore) -> None:
    tables = await sample.rows(
        "select conrelid::regclass::text as name from pg_constraint where confrelid = 'media_files'::regclass"
    )
    assert {table["name"] for table in tables} == {*usage.REFERRERS, "media_files"}
