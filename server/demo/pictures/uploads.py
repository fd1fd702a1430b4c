"""Upload the pictures of a demo store, as an app does: announce, send, complete."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from uuid import UUID

from domain.media.addresses import upload_key
from domain.storage import storage
from server.demo.catalog import DemoCatalog
from server.demo.owner import DemoOwner
from server.demo.pictures.pictures import Picture, all_pictures
from server.demo.pictures.rendering import render_pictures

Image = dict[str, str]
# Most of an upload is waiting: for the disk, and for what inspects the picture.
_AT_ONCE = 4


class StorePictures:
    """The uploaded pictures of a store, as inputs of its records; without any, records have no images."""

    def __init__(self, media_ids: Mapping[Picture, str]) -> None:
        self._media_ids = media_ids

    def images(self, *pictures: Picture) -> list[Image]:
        """Return the images of a record, each described by the name of its picture."""
        return [{"media_id": self._media_ids[each], "alt": each.name} for each in pictures if self._media_ids]

    def image(self, picture: Picture, alt: str) -> Image | None:
        """Return the image of a record that has one."""
        return {"media_id": self._media_ids[picture], "alt": alt} if self._media_ids else None


async def upload_pictures(owner: DemoOwner, catalog: DemoCatalog, folder: Path | None, at: datetime) -> StorePictures:
    """Return all pictures of the catalog, rendered and uploaded; the folder keeps what was rendered, without one there are none."""
    if folder is None:
        return StorePictures({})
    files = await render_pictures(all_pictures(catalog), folder)
    turns = asyncio.Semaphore(_AT_ONCE)
    media_ids = await asyncio.gather(*(_upload(owner, picture, path, at, turns) for picture, path in files.items()))
    return StorePictures(dict(zip(files, media_ids, strict=True)))


async def _upload(owner: DemoOwner, picture: Picture, path: Path, at: datetime, turns: asyncio.Semaphore) -> str:
    async with turns:
        content = await asyncio.to_thread(path.read_bytes)
        announced = {
            "file_name": f"{picture.name}.{picture.format}",
            "mime_type": f"image/{picture.format}",
            "bytes": len(content),
        }
        media_id = (await owner.execute("media_upload_create", at, input=announced))["media_id"]
        await storage().put(upload_key(owner.store.public_id, UUID(media_id)), content)
        file = await owner.execute("media_upload_complete", at, media_id=media_id)
        return str(file["id"])
