"""Translate business rule errors into Portuguese for storefront customers; the reason stays the machine-readable code."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from domain.promotions.refusals import CouponCause
from kernel.errors import RuleViolation
from kernel.money import format_price
from kernel.scope import Scope

# Customer messages by `place_order` reason; `{names}` are the products concerned.
ERROR_TEXTS: Mapping[str, str] = {
    "out_of_stock": "Estoque insuficiente: {names}.",
    "product_unavailable": "Produto indisponível: {names}.",
    "required_products": "Vendido somente junto com outro produto: {names}.",
    "option_exception": "Estas opções não podem ser escolhidas juntas: {names}.",
    "combination_unavailable": "Não existe esta combinação de opções: {names}.",
    "quantity_too_small": "Quantidade abaixo do mínimo: {names}.",
    "quantity_too_large": "Quantidade acima do máximo: {names}.",
    "quantity_not_in_steps": "Vendido em múltiplos da embalagem: {names}.",
    "payment_unavailable": "A forma de pagamento não está disponível.",
    "shipping_required": "Escolha uma forma de entrega.",
    "coupon_unavailable": "O cupom não está disponível para este carrinho.",
    "points_unavailable": "O saldo de pontos não é suficiente.",
    "shipping_unavailable": "A forma de entrega escolhida não está disponível para este carrinho.",
}


# Why a coupon is unavailable; `{minimum}` is an amount.
COUPON_TEXTS: Mapping[CouponCause, str] = {
    CouponCause.BELOW_MINIMUM: "O cupom vale para compras a partir de {minimum}.",
    CouponCause.ALREADY_USED: "O cupom vale uma única vez por cliente e já foi usado.",
    CouponCause.NOT_YET_VALID: "O cupom ainda não está valendo.",
    CouponCause.EXPIRED: "O cupom está vencido.",
}


@contextmanager
def portuguese_errors(scope: Scope) -> Iterator[None]:
    """Re-raise RuleViolations with their Portuguese text; reasons without a text pass unchanged."""
    try:
        yield
    except RuleViolation as error:
        if error.reason not in ERROR_TEXTS:
            raise
        raise portuguese_error(scope, error) from error


def portuguese_error(scope: Scope, error: RuleViolation) -> RuleViolation:
    """Return the error with the Portuguese text of its reason, or of its cause."""
    names = ", ".join(str(product["name"]) for product in error.details.get("products", ()))
    text = COUPON_TEXTS.get(error.details.get("cause", ""), ERROR_TEXTS[error.reason or ""])
    minimum = format_price(error.details.get("minimum_cents", 0), scope.store.currency)
    return RuleViolation(text.format(names=names, minimum=minimum), reason=error.reason, details=error.details)
