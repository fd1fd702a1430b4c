"""Define the enums: the closed sets of codes (docs/reference/shared.md#statuses).

A code is stored and shown as it is. Input also accepts either case, the long names and string literals, as the REST families do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NewType

from graphql import (
    ConstValueNode,
    EnumValueNode,
    GraphQLEnumType,
    GraphQLEnumValue,
    GraphQLError,
    GraphQLScalarType,
    StringValueNode,
    print_ast,
)
from strawberry.types.scalar import ScalarDefinition

from domain.media.addresses import SIZES
from domain.promotions.typed_terms import CONDITION_KINDS
from kernel import codes
from kernel.text import InvalidValue, repr_value


class CodeEnum(GraphQLEnumType):
    """An enum of codes, whose input is parsed by `parse`."""

    def __init__(self, name: str, description: str, values: Mapping[str, str], parse: Callable[[Any], str]) -> None:
        """Create the type; `values` maps each value to its description."""
        members = {value: GraphQLEnumValue(value, description=text) for value, text in values.items()}
        super().__init__(name, members, description=description)
        self._parse = parse

    def coerce_output_value(self, value: Any) -> str:
        """Return the code as it is stored."""
        return str(value)

    def coerce_input_value(self, input_value: Any, hide_suggestions: bool = False) -> str:
        """Parse the value of a variable."""
        return self._parse(input_value)

    def coerce_input_literal(self, value_node: ConstValueNode, hide_suggestions: bool = False) -> str:
        """Parse a literal: an enum value or, for older clients, a string."""
        if not isinstance(value_node, EnumValueNode | StringValueNode):
            raise GraphQLError(f"{self.name} cannot represent {print_ast(value_node)}", value_node)
        try:
            return self._parse(value_node.value)
        except GraphQLError as error:
            raise GraphQLError(error.message, value_node) from error


class _RoleEnum(CodeEnum):
    """The roles, which are stored as the codes of user types."""

    def coerce_output_value(self, value: Any) -> str:
        """Return the name of the role."""
        return _ROLE_NAMES.get(value, str(value))


def graphql_core_type(type_: GraphQLScalarType | GraphQLEnumType) -> ScalarDefinition:
    """Return a definition that lets Strawberry use a type of graphql-core as it is."""
    return ScalarDefinition(
        name=type_.name,
        description=type_.description,
        specified_by_url=None,
        serialize=None,
        parse_value=None,
        parse_literal=None,
        implementation=type_,  # type: ignore[arg-type]
    )


def _enum(name: str, description: str, table: codes.CodeTable) -> ScalarDefinition:
    """Define the enum of a table of codes; the label of a code is its description."""

    def parse(value: Any) -> str:
        try:
            return codes.parse_code(value, table)
        except InvalidValue as problem:
            raise GraphQLError(str(problem)) from problem

    values = {code: f"{table.name(code).replace('_', ' ').capitalize()}." for code in table.codes}
    return graphql_core_type(CodeEnum(name, description, values, parse))


def _words(name: str, description: str, **values: str) -> ScalarDefinition:
    """Define an enum of words, with the description of each."""

    def parse(value: Any) -> str:
        if isinstance(value, str) and value in values:
            return value
        raise GraphQLError(f"{name} is {repr_value(value)}; expected one of {', '.join(values)}")

    return graphql_core_type(CodeEnum(name, description, values, parse))


def _parse_role(value: Any) -> str:
    if isinstance(value, str) and value.lower() in _ROLES:
        return _ROLES[value.lower()]
    raise GraphQLError(f"role is {repr_value(value)}; expected one of admin, vendor, customer")


_ROLES = {"admin": "A", "vendor": "V", "customer": "C"}
_ROLE_NAMES = {code: name for name, code in _ROLES.items()}
_ROLE_DESCRIPTIONS = {"admin": "An administrator.", "vendor": "A user of a vendor.", "customer": "A customer."}
_OPERATORS = {
    "eq": "Equal to it.",
    "neq": "Not equal to it.",
    "in": "One of them.",
    "nin": "None of them.",
    "cont": "Contains it.",
    "ncont": "Doesn't contain it.",
    "gte": "At least it.",
    "gt": "More than it.",
    "lte": "At most it.",
    "lt": "Less than it.",
}
_REVIEWS = codes.CodeTable("status", {"A": ("active", "approved"), "D": ("disabled",), "P": ("pending",)})
_TRACKING = codes.CodeTable("tracking", {"B": ("tracked",), "D": ("not_tracked",)})

ProductStatus = NewType("ProductStatus", str)
CategoryStatus = NewType("CategoryStatus", str)
UserStatus = NewType("UserStatus", str)
UserType = NewType("UserType", str)
UsergroupStatus = NewType("UsergroupStatus", str)
UsergroupType = NewType("UsergroupType", str)
MembershipStatus = NewType("MembershipStatus", str)
VendorStatus = NewType("VendorStatus", str)
SwitchStatus = NewType("SwitchStatus", str)
ReviewStatus = NewType("ReviewStatus", str)
AllocationType = NewType("AllocationType", str)
CallRequestStatus = NewType("CallRequestStatus", str)
FeatureType = NewType("FeatureType", str)
OptionType = NewType("OptionType", str)
ModifierType = NewType("ModifierType", str)
CommissionType = NewType("CommissionType", str)
ExceptionType = NewType("ExceptionType", str)
PageType = NewType("PageType", str)
InventoryTracking = NewType("InventoryTracking", str)
RateCalculation = NewType("RateCalculation", str)
RateSource = NewType("RateSource", str)
TaxAddressType = NewType("TaxAddressType", str)
TaxRateType = NewType("TaxRateType", str)
StatusType = NewType("StatusType", str)
AddressType = NewType("AddressType", str)
InventoryEffect = NewType("InventoryEffect", str)
DiscussionObjectType = NewType("DiscussionObjectType", str)
DiscussionType = NewType("DiscussionType", str)
TransactionType = NewType("TransactionType", str)
StoreStatus = NewType("StoreStatus", str)
Role = NewType("Role", str)
CartStatus = NewType("CartStatus", str)
CartWarningCode = NewType("CartWarningCode", str)
PaymentStatus = NewType("PaymentStatus", str)
PaymentKind = NewType("PaymentKind", str)
PaymentState = NewType("PaymentState", str)
RefundState = NewType("RefundState", str)
PointEntryKind = NewType("PointEntryKind", str)
LedgerEntryKind = NewType("LedgerEntryKind", str)
PayoutStatus = NewType("PayoutStatus", str)
AddressKind = NewType("AddressKind", str)
CreditRisk = NewType("CreditRisk", str)
ActorKind = NewType("ActorKind", str)
DeliveryState = NewType("DeliveryState", str)
AppCallState = NewType("AppCallState", str)
BulkOperationKind = NewType("BulkOperationKind", str)
BulkOperationState = NewType("BulkOperationState", str)
NotificationType = NewType("NotificationType", str)
NotificationStatus = NewType("NotificationStatus", str)
AppMode = NewType("AppMode", str)
TextDirection = NewType("TextDirection", str)
PromotionZone = NewType("PromotionZone", str)
PromotionConditionKind = NewType("PromotionConditionKind", str)
PromotionOperator = NewType("PromotionOperator", str)
PromotionMatch = NewType("PromotionMatch", str)
PromotionBonusKind = NewType("PromotionBonusKind", str)
PromotionDiscountMode = NewType("PromotionDiscountMode", str)
SettingType = NewType("SettingType", str)
MediaStatus = NewType("MediaStatus", str)
ImageSize = NewType("ImageSize", str)
SalesPeriod = NewType("SalesPeriod", str)
ImageFormat = NewType("ImageFormat", str)

ENUMS: dict[object, ScalarDefinition] = {
    ProductStatus: _enum("ProductStatus", "The status of a product.", codes.PRODUCT_STATUSES),
    CategoryStatus: _enum("CategoryStatus", "The status of a category.", codes.CATEGORY_STATUSES),
    UserStatus: _enum("UserStatus", "The status of an account.", codes.USER_STATUSES),
    UserType: _enum("UserType", "The type of an account.", codes.USER_TYPES),
    UsergroupStatus: _enum("UsergroupStatus", "The status of a usergroup.", codes.CATEGORY_STATUSES),
    UsergroupType: _enum("UsergroupType", "The type of a usergroup.", codes.USERGROUP_TYPES),
    MembershipStatus: _enum("MembershipStatus", "The status of a membership.", codes.MEMBERSHIP_STATUSES),
    VendorStatus: _enum("VendorStatus", "The status of a vendor.", codes.VENDOR_STATUSES),
    SwitchStatus: _enum(
        "SwitchStatus", "The status of a record that can be enabled or disabled.", codes.SWITCH_STATUSES
    ),
    ReviewStatus: _enum("ReviewStatus", "The status of a review.", _REVIEWS),
    AllocationType: _enum("AllocationType", "How a warehouse serves a usergroup.", codes.ALLOCATION_TYPES),
    CallRequestStatus: _enum("CallRequestStatus", "The status of a callback request.", codes.CALL_REQUEST_STATUSES),
    FeatureType: _enum("FeatureType", "The type of a feature.", codes.FEATURE_TYPES),
    OptionType: _enum("OptionType", "The type of an option.", codes.OPTION_TYPES),
    ModifierType: _enum(
        "ModifierType", "The type of a price modifier: a fixed amount or a percentage.", codes.MODIFIER_TYPES
    ),
    CommissionType: _enum(
        "CommissionType", "The type of a commission: a fixed amount or a percentage.", codes.COMMISSION_TYPES
    ),
    ExceptionType: _enum("ExceptionType", "The type of an option exception.", codes.EXCEPTION_TYPES),
    PageType: _enum("PageType", "The type of a page.", codes.PAGE_TYPES),
    InventoryTracking: _enum(
        "InventoryTracking",
        "Whether the stock of a product is tracked; else it can always be sold.",
        _TRACKING,
    ),
    RateSource: _words(
        "RateSource",
        "Who names the price of a shipping method.",
        table="Its own prices and rates.",
        app="An installed app, by a call.",
        melhor_envio="Melhor Envio.",
        frenet="Frenet.",
    ),
    RateCalculation: _enum(
        "RateCalculation", "How a shipping method calculates its price.", codes.RATE_CALCULATION_TYPES
    ),
    TaxAddressType: _enum("TaxAddressType", "The address that determines a tax rate.", codes.TAX_ADDRESS_TYPES),
    TaxRateType: _enum(
        "TaxRateType", "The type of a tax rate: a percentage, or a fixed amount per unit.", codes.TAX_RATE_TYPES
    ),
    AddressType: _enum("AddressType", "What an address is used for.", codes.ADDRESS_TYPES),
    StatusType: _enum("StatusType", "What a status belongs to.", codes.STATUS_TYPES),
    InventoryEffect: _enum(
        "InventoryEffect",
        "The stock rule of an order status: its orders reserve or release stock.",
        codes.INVENTORY_EFFECTS,
    ),
    DiscussionObjectType: _enum(
        "DiscussionObjectType", "The type of a reviewed object.", codes.DISCUSSION_OBJECT_TYPES
    ),
    DiscussionType: _enum("DiscussionType", "What the posts of a discussion are.", codes.DISCUSSION_TYPES),
    TransactionType: _enum("TransactionType", "The type of a manager's transaction.", codes.TRANSACTION_TYPES),
    StoreStatus: _enum(
        "StoreStatus", "The status of a store.", codes.CodeTable("status", {"A": ("active",), "M": ("in_maintenance",)})
    ),
    Role: graphql_core_type(_RoleEnum("Role", "The role of an account.", _ROLE_DESCRIPTIONS, _parse_role)),
    CartStatus: _words(
        "CartStatus",
        "The status of a cart.",
        open="It can be changed and ordered.",
        ordered="An order was placed.",
        expired="It was abandoned and can't be changed any more.",
    ),
    CartWarningCode: _words(
        "CartWarningCode",
        "What a warning of a cart is about.",
        PRICE_CHANGED="The unit price differs from that when the line was added.",
        OUT_OF_STOCK="Nothing, or less than the minimum quantity, is in stock.",
        LESS_AVAILABLE="Fewer units than wanted are in stock.",
        PRODUCT_UNAVAILABLE="The product, or the choice of options, is no longer sold.",
        QUANTITY_TOO_SMALL="The product is sold from a larger quantity on.",
        QUANTITY_TOO_LARGE="The product is sold up to a smaller quantity.",
        QUANTITY_NOT_IN_STEPS="The product is sold in steps, which the quantity is none of.",
        REQUIRED_PRODUCTS="The product is sold together with others only.",
        COUPON_UNAVAILABLE="The coupon gives nothing any more.",
        COUPON_ALREADY_APPLIED="The cart has another coupon, so this one was not applied.",
        SHIPPING_UNAVAILABLE="The chosen shipping option is no longer available.",
    ),
    PaymentStatus: _words(
        "PaymentStatus",
        "The payment status of an order.",
        unpaid="Not paid.",
        paid="Paid.",
        partially_refunded="A part of the payment was refunded.",
        refunded="Fully refunded.",
        chargeback="The customer disputed the payment.",
    ),
    PaymentKind: _words(
        "PaymentKind",
        "How a payment is made.",
        PIX="By Pix.",
        BOLETO="By boleto.",
        CARD="By card.",
        OFFLINE="Without a gateway; the store confirms it.",
    ),
    PaymentState: _words(
        "PaymentState",
        "The status of a payment.",
        PENDING="It can be paid, or its gateway has not answered yet.",
        AUTHORIZED="The gateway holds the amount for the store.",
        PAID="Money was received.",
        FAILED="It was declined, or could not be made.",
        CANCELLED="It was cancelled before it was paid.",
        EXPIRED="It was not paid in time.",
        REFUNDED="All of it was refunded.",
        PARTIALLY_REFUNDED="A part of it was refunded.",
        DISPUTED="The customer disputed it.",
    ),
    RefundState: _words(
        "RefundState",
        "The status of a refund.",
        PENDING="The gateway has not answered yet.",
        DONE="It was made.",
        FAILED="The gateway refused it.",
    ),
    PointEntryKind: _words(
        "PointEntryKind",
        "Why reward points changed.",
        earned="A paid order earned them.",
        reversed="The order was cancelled or refunded.",
        spent="An order spent them.",
        returned="The order that spent them was cancelled, refunded or reduced.",
        adjusted="They were set by staff or an app.",
    ),
    LedgerEntryKind: _words(
        "LedgerEntryKind",
        "What an entry of the ledger is (docs/ledger.md).",
        sale="Lines of a paid order.",
        commission="The store's commission on a vendor's lines.",
        shipping="Shipping of a paid order.",
        discount="Discounts of the store.",
        surcharge="The surcharge of the payment.",
        tax="Taxes that are added to the prices.",
        unapplied="Money that belongs to no part of an order: paid too much, not recorded as paid, or not refunded yet.",
        refund="Taken back by a refund or chargeback.",
        commission_refund="The commission on what was refunded.",
        adjustment="A correction by an administrator.",
        payout="Paid out to the vendor, or returned by a cancelled payout.",
    ),
    PayoutStatus: _words(
        "PayoutStatus",
        "The status of a payout.",
        pending="To be transferred.",
        paid="Transferred.",
        cancelled="Returned to the balance.",
    ),
    AddressKind: _words("AddressKind", "The purpose of an order's address.", B="Billing.", S="Shipping."),
    CreditRisk: _words(
        "CreditRisk", "The risk of a company, by its credit score.", low="Low.", medium="Medium.", high="High."
    ),
    ActorKind: _words(
        "ActorKind",
        "The kind of caller that made a change.",
        admin="An administrator.",
        vendor="A user of a vendor.",
        customer="A customer.",
        app="An installed app.",
        storefront="A storefront, without a signed-in customer.",
        system="The platform itself.",
    ),
    DeliveryState: _words(
        "DeliveryState",
        "The state of a webhook delivery.",
        pending="Not attempted yet.",
        delivering="An attempt is running.",
        delivered="The endpoint accepted the event.",
        failed="The latest attempt failed; it is retried at `next_try_at`.",
        dead="All attempts failed.",
        cancelled="The endpoint was deleted or disabled.",
    ),
    AppCallState: _words(
        "AppCallState",
        "How a call to an app ended.",
        answered="The app answered.",
        refused="The app refused.",
        failed="There was no valid answer in time.",
    ),
    BulkOperationKind: _words(
        "BulkOperationKind", "What a bulk operation does.", query="It reads records.", mutation="It writes records."
    ),
    BulkOperationState: _words(
        "BulkOperationState",
        "The state of a bulk operation.",
        pending="No worker has begun.",
        running="A worker executes it.",
        cancelling="It was cancelled and is about to stop.",
        completed="The result can be loaded.",
        failed="It stopped with an error.",
        cancelled="It was cancelled.",
    ),
    NotificationType: _words(
        "NotificationType",
        "The type of a notification.",
        order="Orders.",
        stock="Low stock.",
        app="Sent by an app.",
        shipping="A carrier fails.",
    ),
    NotificationStatus: _words(
        "NotificationStatus", "Whether a notification was read.", read="Read.", unread="Unread."
    ),
    AppMode: _words("AppMode", "The mode of an app, part of the tokens issued to it.", live="Live.", test="Test."),
    TextDirection: _words(
        "TextDirection", "The direction of a language's script.", ltr="Left to right.", rtl="Right to left."
    ),
    PromotionZone: _words(
        "PromotionZone",
        "What a promotion applies to.",
        cart="A whole order.",
        catalog="The price of each product.",
    ),
    PromotionConditionKind: _words(
        "PromotionConditionKind",
        "What a condition compares (docs/promotions.md#conditions), and the member of its value.",
        **{kind: f"Takes `{each.value}`." for kind, each in CONDITION_KINDS.items()},
    ),
    PromotionOperator: _words("PromotionOperator", "How a condition compares.", **_OPERATORS),
    PromotionMatch: _words(
        "PromotionMatch", "How many conditions of a group are needed.", all="All of them.", any="At least one."
    ),
    PromotionBonusKind: _words(
        "PromotionBonusKind",
        "What a promotion gives.",
        order_discount="A discount on what remains of the order.",
        product_discount="A discount on products.",
        free_shipping="Free shipping.",
        free_products="Products at price 0.",
        give_points="Reward points.",
        give_coupon="A coupon of another promotion.",
    ),
    PromotionDiscountMode: _words(
        "PromotionDiscountMode",
        "How a discount is applied.",
        by_percent="Less this share.",
        to_percent="To this share.",
        by_cents="Less this amount; on products, per unit.",
        to_cents="To this amount; on products, per unit.",
    ),
    SettingType: _words(
        "SettingType",
        "The type of a setting's value.",
        C="A boolean, `Y` or `N`.",
        S="One of its variants.",
        U="A whole number.",
        I="A text.",
        P="A secret.",
    ),
    MediaStatus: _words(
        "MediaStatus",
        "The status of a media file.",
        pending="Its upload, or the fetch of its source, is awaited.",
        ready="It is shown.",
        failed="It could not be fetched; `error` says why.",
    ),
    SalesPeriod: _words(
        "SalesPeriod",
        "A period up to now, in the store's time zone.",
        day="Today, by the hour.",
        week="Seven days, by the day.",
        month="Thirty days, by the day.",
    ),
    ImageSize: _words(
        "ImageSize",
        "The size of an image: its longest side in pixels. Smaller images are not enlarged.",
        **{name: f"{pixels} pixels." for name, pixels in SIZES.items()},
        ORIGINAL="As it was uploaded or fetched.",
    ),
    ImageFormat: _words(
        "ImageFormat",
        "The format of a size of an image.",
        AUTO="By what the browser accepts: AVIF if there is one, else WebP, else that of the original.",
        WEBP="WebP.",
        AVIF="AVIF, where it was made already.",
        JPEG="JPEG.",
        PNG="PNG.",
    ),
}
