"""Fixtures of the tests of media."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from server.media.renderer import Renderer


@pytest.fixture(scope="module")
async def renderer() -> AsyncIterator[Renderer]:
    """Return a renderer with the limits of production."""
    renderer = Renderer()
    yield renderer
    await renderer.close()
