"""Fixtures of the tests of media."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from domain.bulk import configuration
from domain.bulk.configuration import BulkConfiguration
from domain.media import renderer as renderers
from domain.storage import Storage
from server.media.renderer import Renderer
from tests.harness.files import used_storage


@pytest.fixture(scope="module")
async def renderer() -> AsyncIterator[Renderer]:
    """Return a renderer with the limits of production."""
    renderer = Renderer()
    yield renderer
    await renderer.close()


@pytest.fixture
async def media_folder(tmp_path: Path, renderer: Renderer) -> AsyncIterator[Storage]:
    """Configure a storage in a folder, one for arriving files, and the renderer, which decodes."""
    earlier_renderer, earlier_bulk = renderers._renderer, configuration.configured()
    renderers.configure(renderer)
    configuration.configure(BulkConfiguration(tmp_path / "parts"))
    with used_storage((tmp_path / "storage").as_uri()) as opened:
        yield opened
    configuration.configure(earlier_bulk)
    renderers.configure(earlier_renderer)
