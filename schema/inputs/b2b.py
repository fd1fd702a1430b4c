"""Define the B2B inputs: managers, payment terms, business partners, product mixes, order limits."""

from __future__ import annotations

from domain.b2b.record_types import MANAGERS, PAYMENT_CODES
from schema.enums import SwitchStatus, TransactionType
from schema.inputs.optional_fields import input_type, optional_copies, optional_field
from schema.scalars import ID, BigInt
from schema.types.b2b import ManagerObject, PaymentCodeObject

_STATUS = "The status code."


@input_type
@optional_copies(ManagerObject, MANAGERS.fields)
class ManagerInput:
    """A sales manager. `name` and `email` are required on creation."""

    user_id: ID | None = optional_field("The user account of the manager.")


@input_type
@optional_copies(PaymentCodeObject, PAYMENT_CODES.fields)
class PaymentCodeInput:
    """B2B payment terms. `code` is required on creation."""


@input_type
class BusinessPartnerInput:
    """A company that buys on payment terms. `name` and `cnpj` are required on creation."""

    name: str | None = optional_field("The company's name.")
    cnpj: str | None = optional_field("The CNPJ.")
    email: str | None = optional_field("The e-mail address.")
    phone: str | None = optional_field("The phone number.")
    contact_name: str | None = optional_field("The contact person.")
    credit_limit_cents: BigInt | None = optional_field("The credit limit, in cents.")
    payment_code_id: ID | None = optional_field("The partner's payment terms.")
    manager_id: ID | None = optional_field("The manager responsible for the partner.")
    status: SwitchStatus | None = optional_field(_STATUS)


@input_type
class MixProductInput:
    """A product of a product mix. `product_id` is required on creation."""

    product_id: ID | None = optional_field("The product.")
    partner_id: ID | None = optional_field("The business partner that owns the mix.")
    manager_id: ID | None = optional_field("The manager that owns the mix.")
    min_quantity: BigInt | None = optional_field("The minimum quantity.")
    price_cents: BigInt | None = optional_field("The unit price, in cents.")
    status: SwitchStatus | None = optional_field(_STATUS)


@input_type
class ManagerTransactionInput:
    """A credit or debit on a manager's balance. `manager_id` and `amount_cents` are required."""

    manager_id: ID | None = optional_field("The manager.")
    type: TransactionType | None = optional_field("The type, `C` by default.", text_internally=True)
    amount_cents: BigInt | None = optional_field("The amount in cents, at least 1.")
    order_id: ID | None = optional_field("The related order.")
    description: str | None = optional_field("The purpose of the transaction.")


@input_type
class OrderLimitInput:
    """An order limit. `user_id` and `vendor_id` are required, `limit_cents` on creation."""

    user_id: ID | None = optional_field("The customer.")
    vendor_id: ID | None = optional_field("The vendor.")
    limit_cents: BigInt | None = optional_field("The limit, in cents.")


@input_type
class CreditCheckInput:
    """A credit check. `cnpj` is required."""

    cnpj: str | None = optional_field("The CNPJ with valid check digits.")
