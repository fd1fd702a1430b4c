"""Create the B2B data of a demo store: managers, payment codes, business partners, mix products, manager transactions, order limits.

Its credit bureau is the sandbox that the server itself provides.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from itertools import islice

from domain.store_settings import SANDBOX_BUREAU
from server.demo.customers import cnpj
from server.demo.owner import DemoOwner

_STARTED = timedelta(days=150)


@dataclass(frozen=True, slots=True)
class _Partner:
    """A business partner, with its terms by code, its manager by place, and the first twelve digits of its CNPJ."""

    name: str
    cnpj: str
    email: str
    contact_name: str
    credit_limit_cents: int
    terms: str
    manager: int


_MANAGERS = (
    ("Márcia Lopes", "marcia.lopes@gerentes.example", "(11) 3030-1010", 500),
    ("Tiago Nunes", "tiago.nunes@gerentes.example", "(81) 3030-2020", 350),
)
_TERMS = (
    ("A_VISTA", "À vista, na emissão da nota", [0], 0),
    ("28_DIAS", "28 dias da nota", [28], 30_000),
    ("30_60_90", "Três parcelas: 30, 60 e 90 dias da nota", [30, 60, 90], 90_000),
)
_PARTNERS = (
    _Partner(
        "Empório Bela Vista Ltda", "347152860001", "compras@belavista.example", "Sônia Prado", 2_000_000, "30_60_90", 0
    ),
    _Partner("Pousada Mar Azul ME", "158204370001", "compras@marazul.example", "Renato Alves", 800_000, "28_DIAS", 0),
    _Partner(
        "Cafeteria Grão Nobre Ltda", "226418930001", "compras@graonobre.example", "Lívia Castro", 350_000, "A_VISTA", 1
    ),
)
# Manager, type, amount in cents, description.
_TRANSACTIONS = (
    (0, "C", 48_250, "Comissão de pedidos do mês"),
    (0, "D", 30_000, "Pagamento de comissão"),
    (1, "C", 17_900, "Comissão de pedidos do mês"),
    (0, "C", 22_410, "Prêmio por novo parceiro"),
)
_LIMITS_CENTS = (1_500_000, 600_000)


async def create_b2b_data(
    owner: DemoOwner, vendors: Mapping[str, str], products: Sequence[str], customers: Sequence[str], now: datetime
) -> None:
    """Create all of it; `vendors`, `products` and `customers` are ids of the store."""
    at = now - _STARTED
    await owner.execute("store_settings_update", at, settings={"credit_bureau_url": SANDBOX_BUREAU})
    managers = [
        await owner.create("manager", at, name=name, email=email, phone=phone, commission_percent=commission)
        for name, email, phone, commission in _MANAGERS
    ]
    terms = {
        code: await owner.create(
            "payment_code", at, code=code, description=text, installments=len(days), days=days, min_amount_cents=least
        )
        for code, text, days, least in _TERMS
    }
    partners = [await _create_partner(owner, partner, managers, terms, at) for partner in _PARTNERS]
    for index, product in enumerate(products[:6]):
        await owner.create(
            "mix_product",
            at,
            product_id=product,
            partner_id=partners[index % len(partners)],
            manager_id=managers[_PARTNERS[index % len(partners)].manager],
            min_quantity=6 * (1 + index % 3),
            price_cents=3_990 + 500 * index,
        )
    for index, (manager, transaction_type, amount, what) in enumerate(_TRANSACTIONS):
        transaction = {"manager_id": managers[manager], "type": transaction_type, "amount_cents": amount}
        await owner.create(
            "manager_transaction", at + timedelta(days=30 * (index + 1)), **transaction, description=what
        )
    limits = zip(customers[1:], islice(vendors.values(), len(_LIMITS_CENTS)), _LIMITS_CENTS, strict=False)
    for customer, vendor, limit in limits:
        values = {"user_id": customer, "vendor_id": vendor, "limit_cents": limit}
        await owner.execute("order_limit_set", now, input=values)


async def _create_partner(
    owner: DemoOwner, partner: _Partner, managers: Sequence[str], terms: Mapping[str, str], at: datetime
) -> str:
    values = asdict(partner) | {"cnpj": cnpj(partner.cnpj)}
    code, manager = terms[values.pop("terms")], managers[values.pop("manager")]
    return await owner.create("business_partner", at, **values, payment_code_id=code, manager_id=manager)
