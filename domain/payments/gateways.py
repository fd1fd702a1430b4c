"""The gateways that a payment method's processor may name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from domain.payments.gateway import PaymentGateway
from kernel.scope import Scope

GATEWAYS: Mapping[str, Callable[[Scope, Mapping[str, Any]], PaymentGateway | None]] = {}
"""What makes the gateway of a processor from the decrypted parameters of the method; None if they don't suffice."""


def gateway_for(scope: Scope, processor: str, params: Mapping[str, Any]) -> PaymentGateway | None:
    """Return the gateway of a payment method; None if it has none: then the store takes payments as it did without gateways."""
    make = GATEWAYS.get(processor)
    return make(scope, params) if make is not None else None
