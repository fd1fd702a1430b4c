"""The rendered pictures of the demo stores, which take seconds, kept between runs; and what inspects them when they are uploaded."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from server.demo.setup import PICTURES
from server.media.child_pool import image_renderer
from tests.harness.programs import ROOT

FOLDER = ROOT / ".vitrine" / "build" / PICTURES


def keep_pictures(data_dir: Path) -> Path:
    """Let a data directory have the pictures of other runs; return the directory."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    data_dir.mkdir(parents=True, exist_ok=True)
    (data_dir / PICTURES).symlink_to(FOLDER)
    return data_dir


@pytest.fixture(scope="module")
async def demo_pictures() -> AsyncIterator[Path]:
    """Return the folder for `seed_store`, with a renderer for the uploads of this module."""
    async with image_renderer():
        yield FOLDER
