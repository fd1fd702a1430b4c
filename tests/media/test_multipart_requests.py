"""GraphQL multipart requests at `/graphql` (docs/reference/graphql.md#multipart-requests)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from domain.media import uploads
from domain.storage import Storage
from kernel.received_files import MAX_BYTES
from tests.harness.clients import NewApp, NewClient
from tests.harness.forms import Part, form, operation
from tests.harness.http import Client, Response
from tests.harness.sample_store import SampleStore
from tests.harness.storefront import StorefrontClient, open_storefront
from tests.media.pictures import encoded, picture

UPLOAD = """mutation($file: Upload!, $alt: String) {
    media_upload(file: $file, alt: $alt) { id status url mime_type bytes width alt file_name } }"""
PLACES = {"0": ["variables.file"]}


@pytest.fixture(autouse=True)
def files_are_removed(media_folder: Storage, tmp_path: Path) -> Any:
    """Check that no request leaves a part of its body behind."""
    yield
    assert [path for path in (tmp_path / "parts").rglob("*") if path.is_file()] == []


@pytest.fixture
async def owner(sample: SampleStore) -> Client:
    return await sample.client(sample.owner)


def parts_of(content: bytes, *, name: str = "a.png", mime_type: str = "image/png", **variables: Any) -> list[Part]:
    return [*operation(UPLOAD, {"file": None, **variables}, PLACES), Part("0", content, name, mime_type)]


async def send(client: Client, parts: Sequence[Part], **headers: str | None) -> Response:
    body, own = form(parts)
    return await client.post("/graphql", data=body, headers={**own, **headers})


def error_of(response: Response) -> dict[str, Any]:
    [error] = response.body["errors"]
    return {"message": error["message"], **error["extensions"]}


async def count_files(sample: SampleStore) -> int:
    return int(await sample.value("select count(*) from media_files where tenant_id = $1", sample.store.id))


async def test_a_file_of_a_multipart_request_is_stored_and_served(sample: SampleStore, owner: Client) -> None:
    content = encoded(".png")
    answer = await send(owner, parts_of(content, alt="Caneca"))
    sha256 = hashlib.sha256(content).hexdigest()
    file = answer.body["data"]["media_upload"]
    assert file == {
        "id": file["id"],
        "status": "ready",
        "url": f"http://{sample.host}/media/{sha256}/ORIGINAL.png",
        "mime_type": "image/png",
        "bytes": len(content),
        "width": 120,
        "alt": "Caneca",
        "file_name": "a.png",
    }
    served = await sample.anonymous.get(f"/media/{sha256}/ORIGINAL.png")
    assert (served.status, served.raw) == (200, content)


async def test_the_same_content_is_the_same_file(owner: Client) -> None:
    first, second = [(await send(owner, parts_of(encoded(".png")))).body["data"]["media_upload"] for _ in range(2)]
    assert first == second


async def test_ten_files_are_stored_by_one_document(owner: Client) -> None:
    arguments = ", ".join(f"$f{index}: Upload!" for index in range(10))
    fields = " ".join(f"m{index}: media_upload(file: $f{index}) {{ width }}" for index in range(10))
    places = {str(index): [f"variables.f{index}"] for index in range(10)}
    first = operation(f"mutation({arguments}) {{ {fields} }}", {f"f{index}": None for index in range(10)}, places)
    files = [
        Part(str(index), encoded(".png", picture(20 + index, 10)), "a.png", "image/png")
        for index in reversed(range(10))
    ]
    answer = await send(owner, [*first, *files])
    assert answer.body["data"] == {f"m{index}": {"width": 20 + index} for index in range(10)}
    eleventh = await send(owner, [*first, *files, Part("10", b"x", "x")])
    assert (eleventh.status, error_of(eleventh)["message"]) == (400, "the form has more than 10 files")


async def test_a_persisted_document_takes_files(owner: Client) -> None:
    document = f"sha256:{hashlib.sha256(UPLOAD.encode()).hexdigest()}"
    operations = {"query": UPLOAD, "documentId": document, "variables": {"file": None}}
    file = Part("0", encoded(".png"), "a.png", "image/png")
    for body in (operations, {**operations, "query": None}):
        answer = await send(owner, [Part("operations", json.dumps(body)), Part("map", json.dumps(PLACES)), file])
        assert answer.body["data"]["media_upload"]["status"] == "ready", body


async def test_a_file_of_any_type_is_stored_unless_it_is_announced_as_an_image(
    sample: SampleStore, owner: Client
) -> None:
    document = await send(owner, parts_of(b"%PDF-1.7 and so on", name="b.pdf", mime_type="application/pdf"))
    assert document.body["data"]["media_upload"]["mime_type"] == "application/pdf"
    image = await send(owner, parts_of(encoded(".jpg", picture(30, 30)), name="c.pdf", mime_type="application/pdf"))
    assert image.body["data"]["media_upload"]["mime_type"] == "image/jpeg"
    before = await count_files(sample)
    for content, name, code in (
        (b"<svg onload='alert(1)'/>", "a.png", "media_invalid"),
        (b"", "a.png", "required"),
        (encoded(".png"), "x" * 256, "file_name_invalid"),
        (encoded(".png"), "a\x00.png", "file_name_invalid"),
        (encoded(".png"), "", "required"),
    ):
        refused = error_of(await send(owner, parts_of(content, name=name)))
        assert (refused["code"], refused["details"]["fields"]) == ("VALIDATION_FAILED", {"file": code}), name
    assert await count_files(sample) == before


@pytest.mark.parametrize("name", ["../../etc/passwd.png", "C:\\\\x\\\\passwd.png", "/abs/passwd.png"])
async def test_folders_of_a_file_name_are_left_out(owner: Client, name: str) -> None:
    answer = await send(owner, parts_of(encoded(".png", picture(9, len(name))), name=name))
    assert answer.body["data"]["media_upload"]["file_name"] == "passwd.png"


async def test_a_form_needs_a_header_that_other_sites_can_not_send(sample: SampleStore) -> None:
    parts = parts_of(encoded(".png"))
    refused = await send(sample.anonymous, parts)
    assert refused.status == 400
    assert "Apollo-Require-Preflight" in error_of(refused)["message"]
    for header in ("Apollo-Require-Preflight", "X-Apollo-Operation-Name"):
        unauthenticated = await send(sample.anonymous, parts, **{header: "true"})
        assert (unauthenticated.status, unauthenticated.body["error"]) == (401, "missing authorization header"), header
    assert await count_files(sample) == 0


async def test_only_callers_who_may_upload_send_files(
    storefront: StorefrontClient, sample: SampleStore, new_client: NewClient, new_app: NewApp
) -> None:
    parts = parts_of(encoded(".png"))
    for client in (
        await new_app("write_products"),
        await new_client("manage_content"),
        await sample.client(sample.vendor_user),
    ):
        assert (await send(client, parts)).body["data"]["media_upload"]["status"] == "ready", client
    key = {"X-API-Key": storefront.key, "X-Tenant-ID": str(storefront.sample.store.public_id)}
    for client, headers in (
        (await new_app("read_products"), {}),
        (await new_client("view_content"), {}),
        (sample.anonymous, {**key, "X-API-Key": (await open_storefront(sample, scopes=["storefront:read"])).key}),
    ):
        refused = await send(client, parts, **headers)
        assert refused.status == 403, headers
    # A key that changes carts sends forms, for `cart_file_upload`.
    assert error_of(await send(sample.anonymous, parts, **key))["code"] == "FORBIDDEN"


@pytest.mark.parametrize(
    "parts, message",
    [
        ([], "the parts of a multipart request are operations, map, then"),
        ([Part("map", "{}"), Part("operations", "{}")], "the parts of a multipart request are operations, map, then"),
        ([Part("operations", "{}"), Part("0", b"x", "x"), Part("map", "{}")], "the parts of a multipart request are"),
        ([Part("operations", "{}")], "the parts of a multipart request are"),
        ([Part("operations", "[{}]"), Part("map", "{}")], "batches are not supported"),
        ([Part("operations", "7"), Part("map", "{}")], "operations must be a JSON object"),
        ([Part("operations", "{"), Part("map", "{}")], "operations: the body is not JSON"),
        ([Part("operations", "{}", "o.json"), Part("map", "{}")], "operations is a file; expected JSON"),
        ([Part("operations", b"\xff"), Part("map", "{}")], "the part 'operations' is not UTF-8"),
        ([Part("operations", "{}"), Part("map", "[]")], "map must be a JSON object of lists"),
        ([Part("operations", "{}"), Part("map", '{"0": "variables.file"}')], "map must be a JSON object of lists"),
        ([Part("operations", "{}"), Part("map", '{"0": [7]}')], "map must be a JSON object of lists"),
        ([*operation(UPLOAD, {"file": None}, PLACES)], "map names the file '0', which was not sent"),
        ([*operation(UPLOAD, {"file": None}, {}), Part("0", b"x", "x")], "the file '0' is not in map"),
        ([*operation(UPLOAD, {"file": None}, PLACES), Part("0", b"x")], "the part '0' has no filename"),
        ([*operation(UPLOAD, {"file": None}, PLACES), *[Part("0", b"x", "x")] * 2], "the file '0' was sent twice"),
        ([*operation(UPLOAD, {"file": 7}, PLACES), Part("0", b"x", "x")], "there is no null at 'variables.file'"),
        ([*operation(UPLOAD, {}, PLACES), Part("0", b"x", "x")], "there is no null at 'variables.file'"),
        ([*operation(UPLOAD, {}, {"0": ["query"]}), Part("0", b"x", "x")], "there is no null at 'query'"),
        ([*operation(UPLOAD, {}, {"0": [""]}), Part("0", b"x", "x")], "there is no null at ''"),
        ([*operation(UPLOAD, {"a": [None]}, {"0": ["variables.a.1"]}), Part("0", b"x", "x")], "there is no null at"),
        ([*operation(UPLOAD, {"a": [None]}, {"0": ["variables.a.-1"]}), Part("0", b"x", "x")], "there is no null at"),
        ([*operation(UPLOAD, {"a": [None]}, {"0": ["variables.a.²"]}), Part("0", b"x", "x")], "there is no null at"),
        (
            [*operation(UPLOAD, {"file": None}, {"0": ["variables.file"] * 2}), Part("0", b"x", "x")],
            "there is no null at 'variables.file'",
        ),
        (
            [*operation(UPLOAD, {"file": None}, {"0": ["variables.file"] * 11}), Part("0", b"x", "x")],
            "map has more than 10",
        ),
    ],
)
async def test_a_malformed_multipart_request_says_what_is_wrong(
    sample: SampleStore, owner: Client, parts: list[Part], message: str
) -> None:
    refused = await send(owner, parts)
    assert refused.status == 400
    assert message in error_of(refused)["message"]
    assert await count_files(sample) == 0


async def test_files_are_for_variables_of_type_upload(owner: Client) -> None:
    file, wrong = Part("0", b"x", "x"), "the variable 'file' contains a file; expected it to be declared as Upload"
    settings = "mutation($file: JSON!) { store_settings_update(settings: $file) { id } }"
    for query, variable, place, message in (
        ("mutation($file: String!) { media_create(source_url: $file) { id } }", None, "", wrong),
        (settings, None, "", wrong),
        (settings, {"logo_url": None}, ".logo_url", wrong),
        ("mutation($file: [[Int]]) { media_delete(id: 1) { id } }", [[None]], ".0.0", "is never used"),
        ('mutation { media_delete(id: "1") { id } }', None, "", wrong),
        ("{ products { id } }", None, "", "only a mutation takes files"),
        ("{ __schema { queryType { name } } }", None, "", "only a mutation takes files"),
        ("subscription { events { id } }", None, "", "only a mutation takes files"),
        ("{ nothing }", None, "", "Cannot query field 'nothing' on type 'Query'."),
        ("{", None, "", "Syntax Error"),
    ):
        for accept in ("application/json", "text/event-stream", "text/event-stream, */*"):
            parts = [*operation(query, {"file": variable}, {"0": [f"variables.file{place}"]}), file]
            refused = await send(owner, parts, Accept=accept)
            assert message in error_of(refused)["message"], (query, accept)
    for value in ("x", None, {"path": "/etc/passwd"}):
        refused = await owner.post("/graphql", {"query": UPLOAD, "variables": {"file": value}})
        assert error_of(refused)["code"] == "VALIDATION_FAILED", value


async def test_files_together_are_limited_before_anything_is_executed(sample: SampleStore, owner: Client) -> None:
    first = operation(
        "mutation($a: Upload!, $b: Upload!) { a: media_upload(file: $a) { id } b: media_upload(file: $b) { id } }",
        {"a": None, "b": None},
        {"0": ["variables.a"], "1": ["variables.b"]},
    )
    half = b"x" * (MAX_BYTES // 2 + 1)
    refused = await send(owner, [*first, Part("0", half, "a.txt"), Part("1", half, "b.txt")])
    assert (refused.status, refused.body["message"]) == (
        413,
        f"the files of the form are larger than {MAX_BYTES} bytes",
    )
    texts = await send(owner, [Part("operations", b" " * (2 * 1024 * 1024 + 1)), Part("map", "{}")])
    assert (texts.status, texts.body["message"]) == (413, "the texts of the form are larger than 2097152 bytes")
    assert await count_files(sample) == 0


async def test_a_repeated_request_with_its_key_has_no_second_effect(sample: SampleStore, owner: Client) -> None:
    key = {"Idempotency-Key": "k1"}
    first = await send(owner, parts_of(encoded(".png")), **key)
    body, headers = form(parts_of(encoded(".png")), boundary="another-boundary")
    repeated = await owner.post("/graphql", data=body, headers={**headers, **key})
    assert (repeated.raw, repeated.headers["Idempotent-Replayed"]) == (first.raw, "true")
    assert await count_files(sample) == 1
    for parts in (parts_of(encoded(".png", picture(9, 9))), parts_of(encoded(".png"), alt="other")):
        reused = await send(owner, parts, **key)
        assert (reused.status, reused.body["error"]) == (422, "idempotency key reused with a different request"), parts
    assert await count_files(sample) == 1


async def test_each_upload_of_a_customer_counts_whatever_becomes_of_it(sample: SampleStore) -> None:
    client = await sample.client(sample.caio)
    refused = error_of(await send(client, parts_of(b"%PDF-1.7", mime_type="application/pdf")))
    assert refused["details"]["fields"] == {"mime_type": "mime_type_invalid"}
    for number in range(uploads.MAX_DAILY):
        # Half of them in a transaction that is rolled back.
        key = {"Idempotency-Key": f"k{number}"} if number % 2 else {}
        content = b"no image" if number % 3 else encoded(".png", picture(20 + number, 9))
        answer = await send(client, parts_of(content), **key)
        assert ("errors" in answer.body) == bool(number % 3), number
    assert await count_files(sample) == uploads.MAX_DAILY
    assert error_of(await send(client, parts_of(encoded(".png"))))["code"] == "RATE_LIMITED"
    begun = "mutation($input: MediaUploadInput!) { media_upload_create(input: $input) { media_id } }"
    values = {"file_name": "a.png", "mime_type": "image/png", "bytes": 10}
    answer = await client.post("/graphql", {"query": begun, "variables": {"input": values}})
    assert error_of(answer)["code"] == "RATE_LIMITED"


async def test_a_customer_shows_an_uploaded_picture(sample: SampleStore) -> None:
    client = await sample.client(sample.caio)
    file = (await send(client, parts_of(encoded(".png")))).body["data"]["media_upload"]
    text = "mutation($id: ID!, $input: UserInput!) { user_update(id: $id, input: $input) { image { url } } }"
    variables = {"id": sample.caio.id, "input": {"image": {"media_id": file["id"]}}}
    answer = await client.post("/graphql", {"query": text, "variables": variables})
    assert answer.body["data"]["user_update"]["image"]["url"] == file["url"]


async def test_a_client_that_accepts_events_only_gets_json(owner: Client) -> None:
    answer = await send(owner, parts_of(encoded(".png")), Accept="text/event-stream")
    assert answer.body["data"]["media_upload"]["status"] == "ready"


async def test_a_literal_is_no_file(owner: Client) -> None:
    refused = await owner.post("/graphql", {"query": 'mutation { media_upload(file: "x") { id } }'})
    assert error_of(refused)["message"] == "expected a file of a multipart request"
