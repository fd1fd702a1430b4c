"""How long data are kept that grow without end: the periods of VITRINE_RETENTION, with their defaults (docs/deploy.md#retention)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Period:
    """A default in days, and the shortest that doesn't break a promise of the interfaces or of the law; 0 keeps for ever."""

    days: int
    minimum: int


PERIODS: Mapping[str, Period] = {
    # Claims of consumers and taxes lapse after five years (CDC art. 27, CTN art. 173); access logs have to be kept for six months
    # (Lei 12.965/2014 art. 15).
    "audit_log": Period(1_825, 180),
    # Payments are proven by them, and a repeated notification is recognized by its row.
    "gateway_notifications": Period(1_825, 30),
    # Chargebacks come within 180 days; until then a notification can be processed again.
    "gateway_bodies": Period(180, 7),
    # Invoices of erased persons: taxes can be assessed for five years (CTN art. 173 and 195).
    "invoices": Period(1_825, 1_825),
    "notifications": Period(365, 1),
    # Sequences of carts that don't exist any more.
    "event_sequences": Period(180, 1),
    "mails": Period(30, 3),
    "carts": Period(90, 1),
    "sessions": Period(30, 1),
    # While a used refresh token is known, its reuse ends the session; sessions last 30 days.
    "refresh_tokens": Period(60, 30),
    "app_tokens": Period(30, 1),
}
DEFAULT_DAYS: Mapping[str, int] = {name: period.days for name, period in PERIODS.items()}
