"""Decide how many reward points a purchase spends and what they are worth. Pure arithmetic."""

from __future__ import annotations

from dataclasses import dataclass

from domain.points.ledger import unavailable_error
from domain.store_settings import setting
from kernel.scope import Scope

RATE = "point_value_cents"


@dataclass(frozen=True, slots=True)
class PointsRequest:
    """Points to spend, each worth `value_cents`; 0 cents: they can't be spent.

    With `up_to` fewer are spent when the account has fewer (carts). `agreed`: the order spent them already, so that the balance doesn't
    matter.
    """

    points: int = 0
    value_cents: int = 0
    up_to: bool = False
    agreed: bool = False


@dataclass(frozen=True, slots=True)
class SpentPoints:
    """The points that a purchase spends and their worth in cents."""

    points: int = 0
    cents: int = 0


NO_POINTS = PointsRequest()
NOTHING_SPENT = SpentPoints()


def requested_points(scope: Scope, points: int, *, up_to: bool = False) -> PointsRequest:
    """Return a request to spend points at the store's present rate."""
    return PointsRequest(points, setting(scope, RATE), up_to=up_to) if points else NO_POINTS


def spend_points(request: PointsRequest, balance: int, remaining_cents: int) -> SpentPoints:
    """Return what is spent on the remaining amount: whole points, at most as many as needed.

    Raises RuleViolation `points_unavailable` for more points than the account has.
    """
    points = request.points
    if not request.agreed and points > balance:
        if not request.up_to:
            raise unavailable_error(balance)
        points = max(0, balance)
    if not points or not request.value_cents:
        return NOTHING_SPENT
    points = min(points, max(0, remaining_cents) // request.value_cents)
    return SpentPoints(points, points * request.value_cents)
