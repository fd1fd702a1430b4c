"""What decodes and renders images: facts of an image, and its sizes.

Nothing of an image is decoded in this process: the composition root calls `configure` with `server.media.child_pool`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Protocol

from kernel.received_files import MAX_BYTES as MAX_BYTES

SHORTEST, LONGEST = 64, 2048
"""Pixels of the longest side of a rendered size."""


class RenderedFormat(StrEnum):
    """The formats that images are rendered in; the values are the suffixes of file names."""

    WEBP = "webp"
    AVIF = "avif"
    JPEG = "jpeg"
    PNG = "png"


class ImageError(Exception):
    """Say in one sentence for people why an image can't be used; what they read as the file's `error`."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class NotAnImage(ImageError):
    """Refuse content that is no image of an accepted format, is over a limit, or is damaged; the same content is refused again."""


class RendererFailed(ImageError):
    """Report that the process that decoded this image crashed, or needed too much time or memory."""


@dataclass(frozen=True, slots=True)
class ImageInfo:
    """Facts of a whole, decodable image; width and height in pixels, as it is shown (after orientation)."""

    mime_type: str
    width: int
    height: int
    frames: int
    blurhash: str


class ImageRenderer(Protocol):
    """Decode images outside of this process. Everything raises `ImageError`, and `Unavailable` when too many wait."""

    async def inspect(self, content: bytes | Path) -> ImageInfo:
        """Return the facts of an image by its content, which is decoded for it."""

    async def render(self, content: bytes | Path, longest: int, file_format: RenderedFormat) -> bytes:
        """Return the first frame with a longest side of at most so many pixels, never enlarged, in sRGB without metadata."""


_renderer: ImageRenderer | None = None


def configure(renderer: ImageRenderer | None) -> None:
    """Set the implementation, or remove it with None."""
    global _renderer
    _renderer = renderer


def configured() -> ImageRenderer:
    """Return the implementation."""
    if _renderer is None:
        raise RuntimeError("call domain.media.renderer.configure(renderer) at start")
    return _renderer
