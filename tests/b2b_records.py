"""Create B2B records in the store of a test."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from domain.store_settings import SANDBOX_BUREAU
from models.b2b import BusinessPartner, CreditCheck, Manager, ManagerTransaction, MixProduct, PaymentCode

__all__ = ["CNPJ", "SANDBOX_BUREAU", "create_b2b_records"]

CNPJ = "11222333000181"


async def create_b2b_records(records: Mapping[str, Any]) -> dict[str, Any]:
    """Create a manager, payment terms, a partner with a mix product, and a credit check."""
    manager = await Manager.create(name="Márcia Lopes", email="marcia@example.com", phone="1130000000")
    terms = await PaymentCode.create(
        code="30/60", description="Em 30 e 60 dias", installments=2, days=[30, 60]
    )
    partner = await BusinessPartner.create(
        name="Padaria Sol", cnpj=CNPJ, email="padaria@example.com", contact_name="Seu Zé", credit_limit_cents=500_000,
        payment_code_id=terms.id, manager_id=manager.id,
    )  # fmt: skip
    mix = await MixProduct.create(
        product_id=records["mug"].number,
        partner_id=partner.id,
        manager_id=manager.id,
        min_quantity=10,
        price_cents=4_500,
    )
    await CreditCheck.create(
        cnpj=CNPJ, score=720, risk="low", limit_cents=3_600_000, source="sandbox", bureau_url=SANDBOX_BUREAU,
        checked_at=datetime.now(UTC),
    )  # fmt: skip
    transaction = await ManagerTransaction.create(
        manager_id=manager.id, type="C", amount_cents=10_000, balance_cents=10_000, description="Comissão"
    )
    await Manager.filter(id=manager.id).update(balance_cents=10_000)
    return {"transaction": transaction, "manager": manager, "terms": terms, "partner": partner, "mix": mix}
