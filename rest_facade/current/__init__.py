"""Be the facade of the current API (`/api/v1`): sign-in, administration, storefront, gateway."""

from __future__ import annotations

from pathlib import Path

from resolvers.execute import load
from rest_facade.current import admin, credentials
from rest_facade.current.auth import SignIn
from rest_facade.current.consent import ConsentPage
from rest_facade.current.gateway import GatewayRoutes
from rest_facade.current.oauth import OAuth
from rest_facade.current.registration import Registration
from rest_facade.current.storefront import Catalogue
from rest_facade.current.storefront_carts import Carts
from rest_facade.records import FRAGMENTS
from rest_facade.routing import Needs, Route
from rest_facade.webhooks import Endpoints

OPERATIONS = Path(__file__).parent / "operations"


def routes() -> list[Route]:
    """List the routes that the server mounts, after loading the operations they execute."""
    operations = load(OPERATIONS, FRAGMENTS)
    return [
        *SignIn(operations).routes(),
        *Registration(operations).routes(),
        *OAuth(operations).routes(),
        *ConsentPage(operations).routes(),
        *admin.routes(operations),
        *credentials.routes(operations),
        *Endpoints(f"{admin.PREFIX}/event-endpoints", "Admin", Needs.ADMIN, operations).routes(),
        *GatewayRoutes(operations).routes(),
        *Catalogue(operations).routes(),
        *Carts(operations).routes(),
    ]
