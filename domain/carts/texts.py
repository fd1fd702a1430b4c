"""Say in Portuguese, to shoppers, what a rule of the shop refuses; the reason stays the code for programs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from kernel.errors import RuleViolation

# What the reasons of `place_order` are called before shoppers; `{names}` are the products concerned.
TEXTS: Mapping[str, str] = {
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
    "shipping_unavailable": "A forma de entrega escolhida não está disponível para este carrinho.",
}


@contextmanager
def in_portuguese() -> Iterator[None]:
    """Say what is refused within as shoppers read it; what has no text here stays as it is."""
    try:
        yield
    except RuleViolation as refusal:
        text = TEXTS.get(refusal.reason or "")
        if text is None:
            raise
        names = ", ".join(str(product["name"]) for product in refusal.details.get("products", ()))
        raise RuleViolation(
            text.format(names=names), reason=refusal.reason, details=refusal.details
        ) from refusal
