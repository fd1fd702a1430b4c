"""Define what selling to companies shows: managers, terms of payment, partners, mixes, limits, scores."""

from __future__ import annotations

import strawberry

from auth.access import Access
from domain.b2b.read import (
    BUSINESS_PARTNERS,
    MANAGER_TRANSACTIONS,
    MANAGERS,
    MIX_PRODUCTS,
    ORDER_LIMITS,
    PAYMENT_CODES,
)
from domain.orders.limits import USED
from models.reading import ToOne
from schema.fields import column, entity, part, relation
from schema.scalars import BigInt, Ident, SwitchStatus, Time
from schema.types.catalog import ProductObject
from schema.types.marketplace import VendorObject
from schema.types.orders import OrderObject
from schema.types.people import UserObject

_UNIX = "floor(extract(epoch from t.created_at))::bigint"
_NUMBER = "The legacy number."


@entity(MANAGERS, "Manager", "Somebody who sells for the store to companies.")
class ManagerObject:
    """A row of `managers`."""

    id: Ident = column("public_id", "The UUID.")
    number: BigInt = column("id", _NUMBER, internal=True)
    name: str = column(description="The name.")
    email: str = column(description="The e-mail address.")
    phone: str = column(description="The phone number.")
    commission_percent: BigInt = column(description="The commission, in hundredths of a percent.")
    balance_cents: BigInt = column(description="Credits less debits of the transactions, in cents.")
    status: SwitchStatus = column(description="The status letter.")
    user_number: BigInt = column(
        "coalesce(t.user_id, 0)", "The legacy number of the account, or 0.", internal=True
    )
    user: UserObject | None = relation(ToOne("user_id"), "The account the manager signs in with.")
    created_at: Time = column(description="When it was made.")
    updated_at: Time = column(description="When it was last changed.")
    created_unix: BigInt = column(_UNIX, "Unix seconds of creation.", internal=True)


@entity(PAYMENT_CODES, "PaymentCode", "Terms of payment.")
class PaymentCodeObject:
    """A row of `payment_codes`."""

    id: Ident = column("public_id", "The UUID.")
    number: BigInt = column("id", _NUMBER, internal=True)
    code: str = column(description="The code, unique in the store.")
    description: str = column(description="The description.")
    installments: int = column(description="How many payments there are.")
    days: list[BigInt] = column(description="Days from the invoice to each payment.")
    min_amount_cents: BigInt = column(description="The smallest order that may be paid so, in cents.")
    status: SwitchStatus = column(description="The status letter.")
    created_at: Time = column(description="When it was made.")
    updated_at: Time = column(description="When it was last changed.")


@entity(BUSINESS_PARTNERS, "BusinessPartner", "A company that buys on terms.")
class BusinessPartnerObject:
    """A row of `business_partners`."""

    id: Ident = column("public_id", "The UUID.")
    number: BigInt = column("id", _NUMBER, internal=True)
    name: str = column(description="The company's name.")
    cnpj: str = column(description="The CNPJ, without punctuation.")
    email: str = column(description="The e-mail address.")
    phone: str = column(description="The phone number.")
    contact_name: str = column(description="Whom to ask for.")
    credit_limit_cents: BigInt = column(description="How much it may owe, in cents.")
    status: SwitchStatus = column(description="The status letter.")
    payment_code_number: BigInt = column(
        "coalesce(t.payment_code_id, 0)", "The legacy number of the terms, or 0.", internal=True
    )
    payment_code: PaymentCodeObject | None = relation(ToOne("payment_code_id"), "The terms it pays on.")
    manager_number: BigInt = column(
        "coalesce(t.manager_id, 0)", "The legacy number of the manager, or 0.", internal=True
    )
    manager: ManagerObject | None = relation(ToOne("manager_id"), "Who looks after it.")
    created_at: Time = column(description="When it was made.")
    updated_at: Time = column(description="When it was last changed.")
    created_unix: BigInt = column(_UNIX, "Unix seconds of creation.", internal=True)


@entity(MIX_PRODUCTS, "MixProduct", "A product of a partner's or a manager's mix.")
class MixProductObject:
    """A row of `mix_products`."""

    id: Ident = column("public_id", "The UUID.")
    number: BigInt = column("id", _NUMBER, internal=True)
    min_quantity: BigInt = column(description="The fewest units it is sold in.")
    price_cents: BigInt = column(description="The price of a unit, in cents.")
    status: SwitchStatus = column(description="The status letter.")
    product_number: BigInt = column("product_id", "The legacy number of the product.", internal=True)
    product: ProductObject | None = relation(ToOne("product_id"), "The product.")
    partner_number: BigInt = column(
        "coalesce(t.partner_id, 0)", "The legacy number of the partner, or 0.", internal=True
    )
    partner: BusinessPartnerObject | None = relation(ToOne("partner_id"), "The partner whose mix it is.")
    manager_number: BigInt = column(
        "coalesce(t.manager_id, 0)", "The legacy number of the manager, or 0.", internal=True
    )
    manager: ManagerObject | None = relation(ToOne("manager_id"), "The manager whose mix it is.")
    created_at: Time = column(description="When it was made.")
    updated_at: Time = column(description="When it was last changed.")


@entity(MANAGER_TRANSACTIONS, "ManagerTransaction", "What a manager earned or was paid.")
class ManagerTransactionObject:
    """A row of `manager_transactions`, which never changes."""

    id: Ident = column("public_id", "The UUID.")
    number: BigInt = column("id", _NUMBER, internal=True)
    type: str = column(description="`C` credit, `D` debit.")
    amount_cents: BigInt = column(description="The amount, in cents.")
    balance_cents: BigInt = column(description="The manager's balance after it, in cents.")
    description: str = column(description="What for.")
    manager_number: BigInt = column("manager_id", "The legacy number of the manager.", internal=True)
    manager: ManagerObject | None = relation(ToOne("manager_id"), "The manager.")
    order_number: BigInt = column(
        "coalesce(t.order_id, 0)", "The legacy number of the order, or 0.", internal=True
    )
    order: OrderObject | None = relation(ToOne("order_id"), "The order it is for.")
    created_at: Time = column(description="When it was written.")
    created_unix: BigInt = column(_UNIX, "Unix seconds of writing.", internal=True)


@entity(ORDER_LIMITS, "OrderLimit", "How much a buyer may have open and paid with a vendor at a time.")
class OrderLimitObject:
    """A row of `order_limits`."""

    id: Ident = column("public_id", "The UUID.")
    number: BigInt = column("id", _NUMBER, internal=True)
    limit_cents: BigInt = column(description="The limit, in cents.")
    used_cents: BigInt = column(USED, "What open and paid orders have used of it, in cents.")
    available_cents: BigInt = column(f"greatest(t.limit_cents - {USED}, 0)", "What is left of it, in cents.")
    user_number: BigInt = column("user_id", "The legacy number of the buyer.", internal=True)
    user: UserObject | None = relation(ToOne("user_id"), "The buyer.")
    vendor_number: BigInt = column("vendor_id", "The legacy number of the vendor.", internal=True)
    vendor: VendorObject | None = relation(ToOne("vendor_id"), "The vendor.")
    created_at: Time = column(description="When it was first set.")
    updated_at: Time = column(description="When it was last set.")


@part("CreditScore", "What a company is worth.", access=Access(privileges=("view_b2b", "manage_b2b")))
class CreditScoreObject:
    """What the credit bureau says."""

    cnpj: str = strawberry.field(description="The CNPJ, without punctuation.")
    score: int = strawberry.field(description="0 to 1000; higher is better.")
    risk: str = strawberry.field(description="`low`, `medium` or `high`.")
    limit_suggested_cents: BigInt = strawberry.field(description="How much it might owe, in cents.")
    source: str = strawberry.field(description="Who says so; `sandbox` for a made-up answer.")
    checked_at: Time = strawberry.field(description="When the bureau was asked.")
    checked_unix: BigInt = strawberry.field(description="The same in Unix seconds.")
