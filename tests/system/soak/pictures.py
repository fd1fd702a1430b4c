"""Pictures of the stores: uploaded through one process, rendered and shown by any other, and all there at the end."""

from __future__ import annotations

import asyncio
import hashlib
import random
import zlib
from collections.abc import Sequence
from time import monotonic
from typing import Any
from urllib.parse import urlsplit

from tests.media.pictures import png_header
from tests.system.soak.calls import Answer, Client
from tests.system.soak.stores import Store

WIDTH, HEIGHT = 150, 100
_SIZES = ("64.webp", "128.jpeg", "256.png", "64.auto")
_BEGIN = "mutation ($input: MediaUploadInput!) { media_upload_create(input: $input) { media_id url headers } }"
_COMPLETE = "mutation ($id: ID!) { media_upload_complete(media_id: $id) { status url } }"
_FAMILY = "media"
_TYPE = "image/png"
# A killed worker's picture waits 120 s for the end of its lease; a process looks for a missing AVIF again after 60 s.
_AVIF_SECONDS = 200.0


def drawn() -> bytes:
    """Return a picture that no other upload has."""
    rows = b"".join(b"\0" + random.randbytes(WIDTH) for _ in range(HEIGHT))
    return png_header(WIDTH, HEIGHT, zlib.compress(rows))


async def upload_picture(client: Client, store: Store) -> str | None:
    """Upload a picture and return its path, from when on it must not be lost; None if it was not taken."""
    content = drawn()
    headers = await store.owner(client)
    input = {"file_name": "picture.png", "mime_type": _TYPE, "bytes": len(content)}
    begun = await _graphql(client, store, headers, _BEGIN, {"input": input})
    if begun is None:
        return None
    address = urlsplit(begun["url"])
    # At this server or at the storage's provider.
    at = client if begun["url"].startswith(client.base_url) else client.at(f"{address.scheme}://{address.netloc}")
    target = f"{address.path}?{address.query}"
    sent = await at.settle(
        store.model, _FAMILY, "PUT", target, content, headers=begun["headers"], expected=(200, 201, 409)
    )
    if sent.status not in (200, 201, 409):
        return None
    file = await _graphql(client, store, headers, _COMPLETE, {"id": begun["media_id"]})
    if file is None:
        return None
    path = f"/media/{hashlib.sha256(content).hexdigest()}"
    if file["status"] != "ready" or f"{path}/" not in file["url"]:
        client.world.findings.add("picture", f"{store.model.marker}: an upload is {file}, expected ready at {path}")
    store.model.pictures[path] = content
    return path


async def show_picture(client: Client, store: Store) -> None:
    """Load a picture that was uploaded, and one of its sizes."""
    if store.model.pictures:
        await check_picture(client, store, random.choice(list(store.model.pictures)))


async def check_picture(client: Client, store: Store, path: str, sizes: Sequence[str] = _SIZES) -> None:
    """Report a picture whose content isn't what was uploaded, or of which a size is no picture."""
    content = store.model.pictures[path]
    shown = await _load(client, store, f"{path}/ORIGINAL.png")
    if shown.status == 200 and shown.body != content:
        client.world.findings.add("picture", f"{path}: the content differs from what was uploaded")
    name = random.choice(sizes)
    size = await _load(client, store, f"{path}/{name}")
    if size.status == 200 and not (isinstance(size.body, bytes) and 20 < len(size.body) < 10 * len(content)):
        client.world.findings.add("picture", f"{path}/{name} is no picture: {size.body!r:.100}")


async def check_machines(urls: Sequence[str], client: Client, store: Store) -> None:
    """Upload at each machine, and have the picture shown and rendered by each other one."""
    for url in urls:
        path = await upload_picture(client.at(url), store)
        if path is None:
            client.world.findings.add("picture", f"an upload at {url} was refused")
            continue
        for other in urls:
            for name in _SIZES if other != url else ():
                await check_picture(client.at(other), store, path, (name,))


async def audit_pictures(client: Client, stores: Sequence[Store]) -> None:
    """Check that every picture that was taken is there, and that workers render its AVIF."""
    deadline = monotonic() + _AVIF_SECONDS
    for store in stores:
        for path in store.model.pictures:
            await check_picture(client, store, path)
        missing = list(store.model.pictures)
        while missing := [path for path in missing if not await _has_avif(client, store, path)]:
            if monotonic() > deadline:
                client.world.findings.add("picture", f"{len(missing)} pictures have no AVIF, such as {missing[0]}")
                break
            await asyncio.sleep(2)


async def _has_avif(client: Client, store: Store, path: str) -> bool:
    # 150 pixels: that size is the whole picture.
    answer = await client.settle(store.model, _FAMILY, "GET", f"{path}/256.avif", headers={}, expected=(200, 404))
    return answer.status == 200


async def _load(client: Client, store: Store, path: str) -> Answer:
    return await client.read(store.model, _FAMILY, path, headers={}, is_current=lambda _: True)


async def _graphql(client: Client, store: Store, headers: Any, document: str, variables: Any) -> Any:
    body = {"query": document, "variables": variables}
    answer = await client.settle(store.model, _FAMILY, "POST", "/graphql", body, headers=headers)
    return next(iter(answer.body["data"].values())) if answer.status == 200 else None
