"""The legacy REST facade (`/api`, `/api/v1.0`, `/api/2.0`)."""

from __future__ import annotations

from rest_facade.routing import Route


def routes() -> list[Route]:
    """List the routes of the legacy API."""
    # Imported here because loading the operations builds the whole schema, which importing the error format doesn't need.
    from rest_facade.legacy.route_table import all_routes

    return all_routes()
