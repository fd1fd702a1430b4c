"""Collect the OpenAPI metadata of the legacy API."""

from __future__ import annotations

from rest_facade.legacy import openapi_routes, resource_openapi
from rest_facade.openapi import RouteDocs, RouteKey


def route_docs() -> dict[RouteKey, RouteDocs]:
    """Return the documentation of every route."""
    return {**resource_openapi.route_docs(), **openapi_routes.route_docs()}
