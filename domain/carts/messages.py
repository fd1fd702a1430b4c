"""Translate business rule errors into Portuguese for storefront customers; the reason stays the machine-readable code."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from kernel.errors import RuleViolation

# Customer messages by `place_order` reason; `{names}` are the products concerned.
ERROR_TEXTS: Mapping[str, str] = {
    "out_of_stock": "Estoque insuficiente: {names}.",
    "product_unavailable": "Produto indisponível: {names}.",
    "required_products": "Vendido somente junto com outro produto: {names}.",
    "option_exception": "Estas opções não podem ser escolhidas juntas: {names}.",
    "combination_unavailable": "Não existe esta combinação de opções: {names}.",
    "quantity_too_small": "Quantidade abaixo do mínimo: {names}.",
    "quantity_too_large": "Quantidade acima do máximo: {names}.",
    "payment_unavailable": "A forma de pagamento não está disponível.",
    "shipping_required": "Escolha uma forma de entrega.",
    "coupon_unavailable": "O cupom não está disponível para este carrinho.",
    "points_unavailable": "O saldo de pontos não é suficiente.",
    "shipping_unavailable": "A forma de entrega escolhida não está disponível para este carrinho.",
}


@contextmanager
def portuguese_errors() -> Iterator[None]:
    """Re-raise RuleViolations with their Portuguese text; reasons without a text pass unchanged."""
    try:
        yield
    except RuleViolation as error:
        text = ERROR_TEXTS.get(error.reason or "")
        if text is None:
            raise
        names = ", ".join(str(product["name"]) for product in error.details.get("products", ()))
        raise RuleViolation(text.format(names=names), reason=error.reason, details=error.details) from error
