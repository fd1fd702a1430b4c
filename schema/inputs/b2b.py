"""Define what is given to change what selling to companies needs."""

from __future__ import annotations

import strawberry

from schema.inputs.given import given_field
from schema.scalars import BigInt, Ident, SwitchStatus

_STATUS = "The status letter."


@strawberry.input(description="A manager. Creation needs `name` and `email`.")
class ManagerInput:
    """Fields of a manager."""

    name: str | None = given_field("The name.")
    email: str | None = given_field("The e-mail address.")
    phone: str | None = given_field("The phone number.")
    commission_percent: BigInt | None = given_field("The commission, in hundredths of a percent.")
    status: SwitchStatus | None = given_field(_STATUS)
    user_id: Ident | None = given_field("The account the manager signs in with.")


@strawberry.input(description="Terms of payment. Creation needs `code`.")
class PaymentCodeInput:
    """Fields of terms of payment."""

    code: str | None = given_field("The code, unique in the store.")
    description: str | None = given_field("The description.")
    installments: int | None = given_field("How many payments there are.")
    days: list[BigInt] | None = given_field("Days from the invoice to each payment.")
    min_amount_cents: BigInt | None = given_field("The smallest order that may be paid so, in cents.")
    status: SwitchStatus | None = given_field(_STATUS)


@strawberry.input(description="A company that buys on terms. Creation needs `name` and `cnpj`.")
class BusinessPartnerInput:
    """Fields of a partner."""

    name: str | None = given_field("The company's name.")
    cnpj: str | None = given_field("The CNPJ.")
    email: str | None = given_field("The e-mail address.")
    phone: str | None = given_field("The phone number.")
    contact_name: str | None = given_field("Whom to ask for.")
    credit_limit_cents: BigInt | None = given_field("How much it may owe, in cents.")
    payment_code_id: Ident | None = given_field("The terms it pays on.")
    manager_id: Ident | None = given_field("Who looks after it.")
    status: SwitchStatus | None = given_field(_STATUS)


@strawberry.input(description="A product of a mix. Creation needs `product_id`.")
class MixProductInput:
    """Fields of a mix's product."""

    product_id: Ident | None = given_field("The product.")
    partner_id: Ident | None = given_field("The partner whose mix it is.")
    manager_id: Ident | None = given_field("The manager whose mix it is.")
    min_quantity: BigInt | None = given_field("The fewest units it is sold in.")
    price_cents: BigInt | None = given_field("The price of a unit, in cents.")
    status: SwitchStatus | None = given_field(_STATUS)


@strawberry.input(description="What a manager earned or was paid. Needs `manager_id` and `amount_cents`.")
class ManagerTransactionInput:
    """Fields of a transaction."""

    manager_id: Ident | None = given_field("The manager.")
    type: str | None = given_field("`C` credit (unless said), `D` debit.")
    amount_cents: BigInt | None = given_field("The amount in cents, 1 or more.")
    order_id: Ident | None = given_field("The order it is for.")
    description: str | None = given_field("What for.")


@strawberry.input(description="A limit. Needs `user_id`, `vendor_id` and, the first time, `limit_cents`.")
class OrderLimitInput:
    """Fields of a limit."""

    user_id: Ident | None = given_field("The buyer.")
    vendor_id: Ident | None = given_field("The vendor.")
    limit_cents: BigInt | None = given_field("The limit, in cents.")


@strawberry.input(description="Whose credit is to be checked. Needs `cnpj`.")
class CreditCheckInput:
    """Name a company."""

    cnpj: str | None = given_field("The CNPJ, its check digits right.")
