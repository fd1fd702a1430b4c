"""Assemble what can be asked and done about selling to companies."""

from __future__ import annotations

import strawberry
from strawberry import Info

from auth.access import Access
from domain.b2b import credit, registers, transactions
from domain.b2b.read import (
    BUSINESS_PARTNERS,
    MANAGER_TRANSACTIONS,
    MANAGERS,
    MIX_PRODUCTS,
    ORDER_LIMITS,
    PAYMENT_CODES,
)
from domain.b2b.registers import Register
from domain.orders import limits
from kernel.clock import unix_text
from models.reading import Row
from resolvers.changes import DeletedRecord, deleted, renamed, shown, words
from resolvers.reads import reads
from resolvers.writes import Writer, writes
from schema.fields import root
from schema.inputs.b2b import (
    BusinessPartnerInput,
    CreditCheckInput,
    ManagerInput,
    ManagerTransactionInput,
    MixProductInput,
    OrderLimitInput,
    PaymentCodeInput,
)
from schema.inputs.given import provided
from schema.scalars import Ident
from schema.types.b2b import (
    BusinessPartnerObject,
    CreditScoreObject,
    ManagerObject,
    ManagerTransactionObject,
    MixProductObject,
    OrderLimitObject,
    PaymentCodeObject,
)

_WRITE = Access(privileges=("manage_b2b",))
_WORDS = {
    f"{name}_id": name
    for name in ("user", "payment_code", "manager", "product", "partner", "order", "vendor")
}


def _writer(register: Register, what: str, deleting: str) -> Writer:
    return Writer(
        create=register.create,
        update=register.update,
        delete=register.delete,
        access=_WRITE,
        words=_WORDS,
        texts=(f"Make {what}.", f"Change {what}.", deleting),
    )


@strawberry.type
class B2bMutations:
    """What else can be done about selling to companies."""

    @root(
        _WRITE,
        "Write down what a manager earned or was paid; the balance follows at once. It can't be changed afterwards.",
    )
    async def manager_transaction_create(
        self, info: Info, input: ManagerTransactionInput
    ) -> ManagerTransactionObject | None:
        """Write a transaction."""
        with words(_WORDS):
            made = await transactions.record_transaction(info.context.scope, renamed(input, _WORDS))
        return await shown(info, MANAGER_TRANSACTIONS, made)

    @root(
        _WRITE,
        "Set how much a buyer may have open and paid with a vendor at a time; orders beyond it are refused.",
    )
    async def order_limit_set(self, info: Info, input: OrderLimitInput) -> OrderLimitObject | None:
        """Set a limit."""
        with words(_WORDS):
            made = await limits.set_limit(info.context.scope, renamed(input, _WORDS))
        return await shown(info, ORDER_LIMITS, made)

    @root(_WRITE, "Take a limit away.")
    async def order_limit_delete(self, info: Info, id: Ident) -> DeletedRecord:
        """Delete a limit."""
        await limits.delete_limit(info.context.scope, id)
        return deleted(id)

    # No Idempotency-Key: with one a transaction would be open while the bureau is asked, and what it says is kept for a day anyway.
    @root(
        _WRITE,
        "Ask the store's credit bureau what a company is worth; its answer is kept for 24 hours.",
        secret=True,
    )
    async def credit_check(self, info: Info, input: CreditCheckInput) -> CreditScoreObject:
        """Check a company's credit."""
        found = await credit.check_credit(info.context.scope, provided(input).get("cnpj"))
        return Row(  # type: ignore[return-value]
            cnpj=found.cnpj,
            score=found.score,
            risk=found.risk,
            limit_suggested_cents=found.limit_suggested_cents,
            source=found.source,
            checked_at=found.checked_at,
            checked_unix=int(unix_text(found.checked_at)),
        )


QUERIES = (
    reads(ManagerObject, MANAGERS, "manager", "managers"),
    reads(PaymentCodeObject, PAYMENT_CODES, "payment_code", "payment_codes"),
    reads(BusinessPartnerObject, BUSINESS_PARTNERS, "business_partner", "business_partners"),
    reads(MixProductObject, MIX_PRODUCTS, "mix_product", "mix_products"),
    reads(ManagerTransactionObject, MANAGER_TRANSACTIONS, "manager_transaction", "manager_transactions"),
    reads(OrderLimitObject, ORDER_LIMITS, "order_limit", "order_limits"),
)
MUTATIONS = (
    B2bMutations,
    writes(
        ManagerObject,
        MANAGERS,
        "manager",
        ManagerInput,
        _writer(
            registers.MANAGERS, "a manager", "Delete a manager; partners and transactions go on showing it."
        ),
    ),
    writes(
        PaymentCodeObject,
        PAYMENT_CODES,
        "payment_code",
        PaymentCodeInput,
        _writer(
            registers.PAYMENT_CODES,
            "terms of payment",
            "Delete terms of payment; partners go on showing them.",
        ),
    ),
    writes(
        BusinessPartnerObject,
        BUSINESS_PARTNERS,
        "business_partner",
        BusinessPartnerInput,
        _writer(registers.BUSINESS_PARTNERS, "a partner", "Delete a partner; its mix goes on showing it."),
    ),
    writes(
        MixProductObject,
        MIX_PRODUCTS,
        "mix_product",
        MixProductInput,
        _writer(registers.MIX_PRODUCTS, "a product of a mix", "Take a product out of a mix."),
    ),
)
