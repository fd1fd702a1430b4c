"""Create the B2B data of a demo store: managers, payment codes, business partners, mix products, manager transactions, order limits.

Its credit bureau is the sandbox that the server itself provides.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice

from domain.store_settings import SANDBOX_BUREAU
from server.demo.customers import cnpj
from server.demo.owner import DemoOwner

_STARTED = timedelta(days=150)


@dataclass(frozen=True, slots=True)
class _Partner:
    name: str
    first_twelve: str
    email: str
    contact: str
    credit_cents: int
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
        (
            await owner.execute(
                "manager_create",
                at,
                input={"name": name, "email": email, "phone": phone, "commission_percent": commission},
            )
        )["id"]
        for name, email, phone, commission in _MANAGERS
    ]
    terms = {}
    for code, description, days, least in _TERMS:
        values = {
            "code": code,
            "description": description,
            "installments": len(days),
            "days": days,
            "min_amount_cents": least,
        }
        terms[code] = (await owner.execute("payment_code_create", at, input=values))["id"]
    partners = [await _create_partner(owner, partner, managers, terms, at) for partner in _PARTNERS]
    for index, product in enumerate(products[:6]):
        mix: dict[str, object] = {
            "product_id": product,
            "partner_id": partners[index % len(partners)],
            "manager_id": managers[_PARTNERS[index % len(partners)].manager],
            "min_quantity": 6 * (1 + index % 3),
            "price_cents": 3_990 + 500 * index,
        }
        await owner.execute("mix_product_create", at, input=mix)
    for index, (manager, transaction_type, amount, what) in enumerate(_TRANSACTIONS):
        transaction = {
            "manager_id": managers[manager],
            "type": transaction_type,
            "amount_cents": amount,
            "description": what,
        }
        await owner.execute("manager_transaction_create", at + timedelta(days=30 * (index + 1)), input=transaction)
    limits = zip(customers[1:], islice(vendors.values(), len(_LIMITS_CENTS)), _LIMITS_CENTS, strict=False)
    for customer, vendor, limit in limits:
        values = {"user_id": customer, "vendor_id": vendor, "limit_cents": limit}
        await owner.execute("order_limit_set", now, input=values)


async def _create_partner(
    owner: DemoOwner, partner: _Partner, managers: Sequence[str], terms: Mapping[str, str], at: datetime
) -> str:
    values = {
        "name": partner.name,
        "cnpj": cnpj(partner.first_twelve),
        "email": partner.email,
        "contact_name": partner.contact,
        "credit_limit_cents": partner.credit_cents,
        "payment_code_id": terms[partner.terms],
        "manager_id": managers[partner.manager],
    }
    partner_id: str = (await owner.execute("business_partner_create", at, input=values))["id"]
    return partner_id
