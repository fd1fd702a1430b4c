"""Be the facade of the app integration routes (`/api/admin`, `/api/storefront`)."""

from __future__ import annotations

from pathlib import Path

from resolvers.execute import load
from rest_facade.apps import shop, webhooks
from rest_facade.records import FRAGMENTS
from rest_facade.routing import Route

OPERATIONS = Path(__file__).parent / "operations"


def routes() -> list[Route]:
    """List the routes that the server mounts, after loading the operations they execute."""
    operations = load(OPERATIONS, FRAGMENTS)
    return [*shop.routes(operations), *webhooks.routes(operations)]
