"""Be the facade of the app integration routes (`/api/admin`, `/api/storefront`)."""

from __future__ import annotations

from rest_facade.routing import Route


def routes() -> list[Route]:
    """List the routes that the server mounts."""
    return []
