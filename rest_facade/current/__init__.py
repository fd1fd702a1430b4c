"""Be the facade of the current API (`/api/v1`): sign-in, administration, storefront, gateway."""

from __future__ import annotations

from rest_facade.routing import Route


def routes() -> list[Route]:
    """List the routes that the server mounts."""
    return []
