"""The app integration facade (`/api/admin`, `/api/storefront`)."""

from __future__ import annotations

from pathlib import Path

from resolvers.execute import load_operations
from rest_facade.apps import calls, events, exports, payments, records, webhooks
from rest_facade.media import MediaHandlers
from rest_facade.records import FRAGMENTS
from rest_facade.routing import Credential, Route

OPERATIONS = Path(__file__).parent / "operations"


def routes() -> list[Route]:
    """Load the operations and list the routes."""
    operations = load_operations(OPERATIONS, FRAGMENTS)
    return [
        *records.routes(operations),
        *exports.routes(operations),
        *webhooks.routes(operations),
        *calls.routes(operations),
        *payments.routes(operations),
        *events.routes(operations),
        *MediaHandlers(records.ADMIN, "App", Credential.APP, operations, "limit").routes(),
    ]
