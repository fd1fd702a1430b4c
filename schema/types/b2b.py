"""Define the B2B types: managers, payment terms, business partners, product mixes, order limits, credit scores."""

from __future__ import annotations

from auth.access import Access
from domain.b2b import record_types
from domain.b2b.read import BUSINESS_PARTNERS, MANAGER_TRANSACTIONS, MANAGERS, MIX_PRODUCTS, ORDER_LIMITS, PAYMENT_CODES
from domain.orders.limits import USED_SQL
from models.reading.queries import ToOne
from schema.enums import CreditRisk, SwitchStatus, TransactionType
from schema.fields import (
    column,
    computed,
    entity_type,
    legacy_number,
    object_type,
    output_field,
    relation,
    unix_seconds,
)
from schema.inputs import input_type, optional_copies, optional_field, required_field
from schema.scalars import ID, BigInt, DateTime
from schema.types.catalog import ProductObject
from schema.types.marketplace import VendorObject
from schema.types.orders import OrderObject
from schema.types.people import UserObject
from schema.unset import Unset


@entity_type(MANAGERS, "Manager", key="", times="created_at updated_at created_unix")
class ManagerObject:
    """A sales manager for B2B customers."""

    name: str = column(description="The name.")
    email: str = column(description="The e-mail address.")
    phone: str = column(description="The phone number.", unset=Unset.LATER)
    commission_percent: BigInt = column(description="The commission, in hundredths of a percent.")
    balance_cents: BigInt = column(description="The balance: credits less debits of all transactions, in cents.")
    status: SwitchStatus = column(description="The status code.")
    user_number: BigInt = legacy_number("user_id", "the account")
    user: UserObject | None = relation(ToOne("user_id"), "The user account of the manager.")


@entity_type(PAYMENT_CODES, "PaymentCode", key="", times="created_at updated_at")
class PaymentCodeObject:
    """B2B payment terms."""

    code: str = column(description="The code, unique in the store.")
    description: str = column(description="The description.")
    installments: int = column(description="The number of installments.")
    days: list[BigInt] = column(description="Days from the invoice to each installment.")
    min_amount_cents: BigInt = column(description="The minimum order amount, in cents.")
    status: SwitchStatus = column(description="The status code.")


@entity_type(BUSINESS_PARTNERS, "BusinessPartner", key="", times="created_at updated_at created_unix")
class BusinessPartnerObject:
    """A company that buys on payment terms."""

    name: str = column(description="The company's name.")
    cnpj: str = column(description="The CNPJ, without punctuation.")
    email: str = column(description="The e-mail address.", unset=Unset.LATER)
    phone: str = column(description="The phone number.", unset=Unset.LATER)
    contact_name: str = column(description="The contact person.")
    credit_limit_cents: BigInt = column(description="The credit limit, in cents.")
    status: SwitchStatus = column(description="The status code.")
    payment_code_number: BigInt = legacy_number("payment_code_id", "the terms")
    payment_code: PaymentCodeObject | None = relation(ToOne("payment_code_id"), "The partner's payment terms.")
    manager_number: BigInt = legacy_number("manager_id", "the manager")
    manager: ManagerObject | None = relation(ToOne("manager_id"), "The manager responsible for the partner.")


@entity_type(MIX_PRODUCTS, "MixProduct", key="", times="created_at updated_at")
class MixProductObject:
    """A product in the product mix of a business partner or manager."""

    min_quantity: BigInt = column(description="The minimum quantity.")
    price_cents: BigInt = column(description="The unit price, in cents.")
    status: SwitchStatus = column(description="The status code.")
    product_number: BigInt = column("product_id", "The legacy numeric ID of the product.", internal=True)
    product: ProductObject | None = relation(ToOne("product_id"), "The product.")
    partner_number: BigInt = legacy_number("partner_id", "the partner")
    partner: BusinessPartnerObject | None = relation(ToOne("partner_id"), "The business partner that owns the mix.")
    manager_number: BigInt = legacy_number("manager_id", "the manager")
    manager: ManagerObject | None = relation(ToOne("manager_id"), "The manager that owns the mix.")


@entity_type(MANAGER_TRANSACTIONS, "ManagerTransaction", key="")
class ManagerTransactionObject:
    """A credit or debit on a manager's balance."""

    type: TransactionType = column(description="The type.")
    amount_cents: BigInt = column(description="The amount, in cents.")
    balance_cents: BigInt = column(description="The manager's balance after the transaction, in cents.")
    description: str = column(description="The purpose of the transaction.")
    manager_number: BigInt = column("manager_id", "The legacy numeric ID of the manager.", internal=True)
    manager: ManagerObject | None = relation(ToOne("manager_id"), "The manager.")
    order_number: BigInt = legacy_number("order_id", "the order")
    order: OrderObject | None = relation(ToOne("order_id"), "The related order.")
    created_at: DateTime = column(description="When the transaction was recorded.")
    created_unix: BigInt = unix_seconds("created_at", "When the transaction was recorded")


@entity_type(ORDER_LIMITS, "OrderLimit", key="")
class OrderLimitObject:
    """The maximum total of a customer's open and paid orders with a vendor."""

    limit_cents: BigInt = column(description="The limit, in cents.")
    used_cents: BigInt = computed(USED_SQL, "The amount used by open and paid orders, in cents.")
    available_cents: BigInt = computed(f"greatest(t.limit_cents - {USED_SQL}, 0)", "The remaining amount, in cents.")
    user_number: BigInt = column("user_id", "The legacy numeric ID of the customer.", internal=True)
    user: UserObject | None = relation(ToOne("user_id"), "The customer.")
    vendor_number: BigInt = column("vendor_id", "The legacy numeric ID of the vendor.", internal=True)
    vendor: VendorObject | None = relation(ToOne("vendor_id"), "The vendor.")
    created_at: DateTime = column(description="When the limit was first set.")
    updated_at: DateTime = column(description="When the limit was last set.")


@object_type("CreditScore", access=Access(privileges=("view_b2b", "manage_b2b")))
class CreditScoreObject:
    """A company's credit score."""

    cnpj: str = output_field("The CNPJ, without punctuation.")
    score: int = output_field("The score from 0 to 1000; higher is better.")
    risk: CreditRisk = output_field("The risk.")
    limit_suggested_cents: BigInt = output_field("The suggested credit limit, in cents.")
    source: str = output_field("The credit bureau; `sandbox` for simulated data.")
    checked_at: DateTime = output_field("When the score was retrieved.")
    checked_unix: BigInt = output_field("When the score was retrieved, in Unix seconds.")


@input_type
@optional_copies(ManagerObject, record_types.MANAGERS.fields)
class ManagerInput:
    """A sales manager. `name` and `email` are required on creation."""

    user_id: ID | None = optional_field("The user account of the manager.")


@input_type
@optional_copies(PaymentCodeObject, record_types.PAYMENT_CODES.fields)
class PaymentCodeInput:
    """B2B payment terms. `code` is required on creation."""


@input_type
@optional_copies(
    BusinessPartnerObject, "name cnpj email phone contact_name credit_limit_cents payment_code_id manager_id status"
)
class BusinessPartnerInput:
    """A company that buys on payment terms. `name` and `cnpj` are required on creation."""

    cnpj: str | None = optional_field("The CNPJ.")
    payment_code_id: ID | None = optional_field("The partner's payment terms.")
    manager_id: ID | None = optional_field("The manager responsible for the partner.")


@input_type
@optional_copies(MixProductObject, "product_id partner_id manager_id min_quantity price_cents status")
class MixProductInput:
    """A product of a product mix. `product_id` is required on creation."""

    product_id: ID | None = optional_field("The product.")
    partner_id: ID | None = optional_field("The business partner that owns the mix.")
    manager_id: ID | None = optional_field("The manager that owns the mix.")


@input_type
class ManagerTransactionInput:
    """A credit or debit on a manager's balance."""

    manager_id: ID | None = required_field("The manager.")
    type: TransactionType | None = optional_field("The type, `C` by default.", text_internally=True)
    amount_cents: BigInt | None = required_field("The amount in cents, at least 1.")
    order_id: ID | None = optional_field("The related order.")
    description: str | None = optional_field("The purpose of the transaction.")


@input_type
class OrderLimitInput:
    """An order limit. `limit_cents` is required on creation."""

    user_id: ID | None = required_field("The customer.")
    vendor_id: ID | None = required_field("The vendor.")
    limit_cents: BigInt | None = optional_field("The limit, in cents.")


@input_type
class CreditCheckInput:
    """A credit check."""

    cnpj: str | None = required_field("The CNPJ with valid check digits.")
