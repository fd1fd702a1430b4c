"""Keep what selling to companies needs: managers, payment codes, partners, mixes, transactions, order limits, credit checks."""

from __future__ import annotations

from tortoise.migrations.migration import Migration as Base
from tortoise.migrations.operations import Operation

from models.migrations._operations import StateOnly, run_files, store_model

_TIMES = {"created_at": "moment", "updated_at": "moment"}
_ERASABLE = {**_TIMES, "deleted_at": "moment?"}


class Migration(Base):
    """Add tables."""

    dependencies: list[tuple[str, str]] = [("models", "0009_warehouses")]  # noqa: RUF012  # as Tortoise declares it
    operations: list[Operation] = [  # noqa: RUF012
        run_files(forward="0010_b2b", backward="0010_b2b_reverse.sql"),
        StateOnly(
            store_model(
                "Manager",
                "managers",
                **_ERASABLE,
                user="-> User.managers?",
                name="text",
                email="text",
                phone="text",
                commission_percent="bigint",
                balance_cents="bigint",
                status="text",
            ),
            store_model(
                "PaymentCode",
                "payment_codes",
                **_ERASABLE,
                code="text",
                description="text",
                installments="int",
                days="bigint[]",
                min_amount_cents="bigint",
                status="text",
            ),
            store_model(
                "BusinessPartner",
                "business_partners",
                **_ERASABLE,
                payment_code="-> PaymentCode.partners?",
                manager="-> Manager.partners?",
                name="text",
                cnpj="text",
                email="text",
                phone="text",
                contact_name="text",
                credit_limit_cents="bigint",
                status="text",
            ),
            store_model(
                "MixProduct",
                "mix_products",
                **_ERASABLE,
                product="-> Product.mixes",
                partner="-> BusinessPartner.mixes?",
                manager="-> Manager.mixes?",
                min_quantity="bigint",
                price_cents="bigint",
                status="text",
            ),
            store_model(
                "ManagerTransaction",
                "manager_transactions",
                manager="-> Manager.transactions",
                order="-> Order.manager_transactions?",
                type="text",
                amount_cents="bigint",
                balance_cents="bigint",
                description="text",
                created_at="moment",
            ),
            store_model(
                "OrderLimit",
                "order_limits",
                **_TIMES,
                user="-> User.order_limits",
                vendor="-> Vendor.order_limits",
                limit_cents="bigint",
            ),
            store_model(
                "CreditCheck",
                "credit_checks",
                cnpj="text",
                score="int",
                risk="text",
                limit_cents="bigint",
                source="text",
                bureau_url="text",
                checked_at="moment",
            ),
        ),
    ]
