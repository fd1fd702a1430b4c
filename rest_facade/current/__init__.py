"""The facade of the current API (`/api/v1`): sign-in, administration, storefront, gateway."""

from __future__ import annotations

from pathlib import Path

from resolvers.execute import load_operations
from rest_facade.current import admin, credentials, registration
from rest_facade.current.auth import SignInHandlers
from rest_facade.current.browser_session import BrowserSessionHandlers
from rest_facade.current.consent import ConsentPage
from rest_facade.current.gateway import GatewayHandlers
from rest_facade.current.ledger import LedgerHandlers
from rest_facade.current.oauth import OAuthHandlers
from rest_facade.current.payments import PaymentHandlers
from rest_facade.current.storefront import CatalogHandlers
from rest_facade.current.storefront_carts import CartHandlers
from rest_facade.media import MediaHandlers
from rest_facade.records import FRAGMENTS
from rest_facade.routing import Credential, Route
from rest_facade.webhooks import WebhookEndpointHandlers

OPERATIONS = Path(__file__).parent / "operations"


def routes() -> list[Route]:
    """Load the operations and list the routes."""
    operations = load_operations(OPERATIONS, FRAGMENTS)
    return [
        *SignInHandlers(operations).routes(),
        *BrowserSessionHandlers(operations).routes(),
        *registration.routes(operations),
        *OAuthHandlers(operations).routes(),
        *ConsentPage(operations).routes(),
        *admin.routes(operations),
        *LedgerHandlers(operations).routes(),
        *credentials.routes(operations),
        *WebhookEndpointHandlers(f"{admin.PREFIX}/event-endpoints", "Admin", Credential.ADMIN, operations).routes(),
        *MediaHandlers(admin.PREFIX, "Admin", Credential.ADMIN, operations).routes(),
        *GatewayHandlers(operations).routes(),
        *CatalogHandlers(operations).routes(),
        *CartHandlers(operations).routes(),
        *PaymentHandlers(operations).routes(),
    ]
