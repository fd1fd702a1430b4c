"""Describe the routes of the legacy layer for readers."""

from __future__ import annotations

from rest_facade.legacy import openapi_routes, resource_openapi
from rest_facade.openapi import Key, RouteDocs


def told() -> dict[Key, RouteDocs]:
    """Give the description of every route of the layer."""
    return {**resource_openapi.told(), **openapi_routes.told()}
