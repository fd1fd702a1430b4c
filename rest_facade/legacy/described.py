"""Describe the routes of the legacy layer for readers."""

from __future__ import annotations

from rest_facade.described import Key, Told
from rest_facade.legacy import odd_described, resource_described


def told() -> dict[Key, Told]:
    """Give the description of every route of the layer."""
    return {**resource_described.told(), **odd_described.told()}
