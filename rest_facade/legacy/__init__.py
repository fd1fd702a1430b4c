"""Be the facade of the legacy layer (`/api`, `/api/v1.0`, `/api/2.0`)."""

from __future__ import annotations

from rest_facade.routing import Route


def routes() -> list[Route]:
    """List the routes that the server mounts."""
    return []
