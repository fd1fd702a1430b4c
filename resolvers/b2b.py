"""Resolve the B2B features: managers, payment terms, business partners, product mixes, order limits, credit checks."""

from __future__ import annotations

from dataclasses import asdict

from strawberry import Info

from auth.access import Access
from domain.b2b import credit, record_types, transactions
from domain.orders import limits
from kernel.clock import format_unix
from models.reading.queries import Row
from resolvers.engine.complete import load_record
from resolvers.entity_mutations import build_entity_mutations
from resolvers.entity_queries import build_entity_queries
from resolvers.mutation_helpers import delete_field, rename_error_fields, rename_fields
from schema.declaration import declare
from schema.fields import root_field
from schema.inputs import provided_fields
from schema.types.b2b import (
    BusinessPartnerInput,
    BusinessPartnerObject,
    CreditCheckInput,
    CreditScoreObject,
    ManagerInput,
    ManagerObject,
    ManagerTransactionInput,
    ManagerTransactionObject,
    MixProductInput,
    MixProductObject,
    OrderLimitInput,
    OrderLimitObject,
    PaymentCodeInput,
    PaymentCodeObject,
)

_WRITE = Access(privileges=("manage_b2b",))
_FIELD_NAMES = {f"{name}_id": name for name in ("user", "vendor", "manager", "order")}


@declare
class B2bMutations:
    """Further B2B mutations."""

    @root_field(_WRITE)
    async def manager_transaction_create(
        self, info: Info, input: ManagerTransactionInput
    ) -> ManagerTransactionObject | None:
        """Record a credit or debit of a manager and update the balance. Transactions can't be changed afterwards."""
        with rename_error_fields(_FIELD_NAMES):
            number = await transactions.record_transaction(info.context.scope, rename_fields(input, _FIELD_NAMES))
        return await load_record(info, number)

    @root_field(_WRITE)
    async def order_limit_set(self, info: Info, input: OrderLimitInput) -> OrderLimitObject | None:
        """Set the maximum total of a customer's open and paid orders with a vendor; orders above it are rejected."""
        with rename_error_fields(_FIELD_NAMES):
            number = await limits.set_limit(info.context.scope, rename_fields(input, _FIELD_NAMES))
        return await load_record(info, number)

    order_limit_delete = delete_field(_WRITE, "Delete an order limit.", limits.delete_limit)

    # No Idempotency-Key: it would keep a transaction open during the request to the bureau, and the result is cached for a day anyway.
    @root_field(_WRITE, secret=True)
    async def credit_check(self, info: Info, input: CreditCheckInput) -> CreditScoreObject:
        """Retrieve a company's credit score from the store's credit bureau; the result is cached for 24 hours."""
        score = await credit.request_credit_score(info.context.scope, provided_fields(input).get("cnpj"))
        return Row(asdict(score), checked_unix=int(format_unix(score.checked_at)))  # type: ignore[return-value]


QUERIES = (
    build_entity_queries(ManagerObject),
    build_entity_queries(PaymentCodeObject),
    build_entity_queries(BusinessPartnerObject),
    build_entity_queries(MixProductObject),
    build_entity_queries(ManagerTransactionObject),
    build_entity_queries(OrderLimitObject),
)
MUTATIONS = (
    B2bMutations,
    build_entity_mutations(
        ManagerObject,
        ManagerInput,
        record_types.MANAGERS,
        _WRITE,
        delete_description="Delete a manager; it remains visible on partners and transactions.",
    ),
    build_entity_mutations(
        PaymentCodeObject,
        PaymentCodeInput,
        record_types.PAYMENT_CODES,
        _WRITE,
        label="payment terms",
        delete_description="Delete payment terms; they remain visible on business partners.",
    ),
    build_entity_mutations(
        BusinessPartnerObject,
        BusinessPartnerInput,
        record_types.BUSINESS_PARTNERS,
        _WRITE,
        delete_description="Delete a business partner; it remains visible on its product mix.",
    ),
    build_entity_mutations(
        MixProductObject,
        MixProductInput,
        record_types.MIX_PRODUCTS,
        _WRITE,
        label="a product of a product mix",
        delete_description="Remove a product from a product mix.",
    ),
)
