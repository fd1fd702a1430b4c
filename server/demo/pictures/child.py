"""Render pictures; the program of the processes that `server.demo.pictures.rendering` starts.

Standard input is a JSON list of pictures with the members `svg`, `scale`, `format` and `path`. Only our own drawings are rendered here: as
uploads, SVG is refused.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyvips

_SAVERS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "jpeg": ("jpegsave_buffer", {"Q": 86}),
    "webp": ("webpsave_buffer", {"Q": 86, "effort": 2}),
    "png": ("pngsave_buffer", {"compression": 6}),
}


def main() -> None:
    """Render all pictures of the standard input."""
    for picture in json.load(sys.stdin):
        _render(picture["svg"], picture["scale"], picture["format"], Path(picture["path"]))


def _render(svg: str, scale: float, file_format: str, path: Path) -> None:
    image = pyvips.Image.svgload_buffer(svg.encode(), scale=scale)
    if file_format != "png":
        image = image.flatten(background=255)
    saver, options = _SAVERS[file_format]
    # Renamed when it is whole: another server on the same folder may render the same picture.
    written = path.with_suffix(f".{os.getpid()}")
    written.write_bytes(getattr(image, saver)(keep="none", **options))
    written.replace(path)


if __name__ == "__main__":
    main()
