"""Be the facade of the legacy layer (`/api`, `/api/v1.0`, `/api/2.0`)."""

from __future__ import annotations

from rest_facade.routing import Route


def routes() -> list[Route]:
    """List the routes that the server mounts."""
    # Loading the operations needs the whole schema, which importing the error form alone does not.
    from rest_facade.legacy.addresses import all_routes

    return all_routes()
