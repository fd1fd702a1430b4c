"""Define carts, their shipping options, and placed orders as seen by the customer."""

from __future__ import annotations

import strawberry

from auth.access import Access
from domain.carts.read import CUSTOMER_CART_ITEMS, CUSTOMER_CARTS
from domain.order_access import CHECKOUT, PLACED_ORDERS, own_data
from domain.payments.read import PAYMENTS
from domain.shipping.read import PLACED_SHIPMENTS
from models.reading.queries import ToMany, ToOne
from schema.enums import CartStatus, CartWarningCode, ModifierType
from schema.fields import (
    column,
    computed,
    embedded,
    entity_type,
    implements,
    object_type,
    output_field,
    referenced,
    relation,
    unix_seconds,
)
from schema.inputs import input_type, optional_field, required_field
from schema.scalars import ID, JSON, BigInt, DateTime
from schema.types.catalog import ProductObject
from schema.types.interfaces import AddressObject
from schema.types.media import OptionFileObject
from schema.types.options import CombinationObject, OptionObject, OptionVariantObject
from schema.types.order_records import OrderCustomerRecordObject, OrderRecordObject, ShipmentObject
from schema.types.payments import PaymentObject
from schema.types.people import SavedAddressInput, UserObject
from schema.types.pricing import PaymentMethodObject, ShippingMethodObject

CART = "storefront:cart"
_ACCESS_NOTE = "The cart ID grants access to the cart; a customer token only to that customer's carts and carts without a customer."
VIEW_CARTS = Access(
    privileges=("view_orders",), app_scope="read_orders", customer=True, storefront=CART, note=_ACCESS_NOTE
)
EDIT_CARTS = Access(privileges=("manage_orders",), customer=True, storefront=CART, note=_ACCESS_NOTE)
CHECK_OUT = Access(privileges=("manage_orders",), customer=True, storefront=CHECKOUT, note=_ACCESS_NOTE)


@object_type("CartItemOption", access=VIEW_CARTS)
class CartItemOptionObject:
    """A chosen option of a cart line."""

    option_id: ID = output_field("The option.")
    option: OptionObject | None = relation(ToOne("option_id"), "The option; null if it is no longer offered.")
    name: str = output_field("The option's name.")
    variant_id: ID | None = output_field("The variant; null for a text.")
    variant: OptionVariantObject | None = relation(
        ToOne("variant_id"), "The variant; null for a text, or if it is no longer offered."
    )
    value: str = output_field("The variant's name, the text, or the name of the file.")
    file: OptionFileObject | None = output_field("The file of the shopper; null unless one was uploaded.")
    modifier: BigInt = output_field(
        "What the variant adds to the price: cents (`A`), or hundredths of a percent of the price (`P`)."
    )
    modifier_type: ModifierType = output_field("`A` absolute, `P` percentage.")


@object_type("CartItemWarning", access=VIEW_CARTS)
class CartItemWarningObject:
    """What a customer should know of a cart line before the checkout."""

    code: CartWarningCode = output_field("What the warning is about.")
    message: str = output_field("The text for the customer, in Portuguese.")
    quantity: BigInt | None = output_field("The units wanted.")
    available_quantity: BigInt | None = output_field(
        "The units in stock; for `QUANTITY_TOO_SMALL` and `QUANTITY_TOO_LARGE` the least and the most that are sold, for"
        " `QUANTITY_NOT_IN_STEPS` the step below."
    )
    previous_price_cents: BigInt | None = output_field("The unit price when the line was added, in cents.")
    price_cents: BigInt | None = output_field("The unit price now, in cents.")


@object_type("CartItem", access=VIEW_CARTS)
class CartItemObject:
    """A line of a cart, at the current price."""

    id: ID = output_field("The unique ID (UUID).")
    product_id: ID = output_field("The product.")
    product: ProductObject | None = relation(
        ToOne("product_id"), "The product in its current state; null for callers without access to it."
    )
    combination_id: ID | None = output_field("The combination of the chosen options.")
    combination: CombinationObject | None = relation(
        ToOne("combination_id"), "The combination of the chosen options, whose stock the line uses."
    )
    name: str = output_field("The product's name.")
    quantity: BigInt = output_field("The number of units.")
    price_cents: BigInt = output_field("The unit price, in cents.")
    total_cents: BigInt = output_field("The line total: quantity times unit price, in cents.")
    options: list[CartItemOptionObject] = output_field(
        "The chosen options, in the order of the product's options.", list_size=1
    )
    option_values: JSON = output_field(
        "The chosen options as `cart_item_add` takes them: option ID to variant ID or text."
    )
    chosen: JSON = output_field(
        "The chosen options for display: a list of `{option_id, name, variant_id, value, modifier, modifier_type}`.",
        deprecated="Use `options`, which is typed.",
    )
    is_available: bool = output_field("Whether the product is active; stock is checked at checkout.")
    warnings: list[CartItemWarningObject] = output_field(
        "The warnings of the cart that are about this line.", list_size=1
    )


@object_type("CartGift", access=VIEW_CARTS)
class CartGiftObject:
    """Free units that a promotion adds to the order."""

    product_id: ID = output_field("The product.")
    product: ProductObject | None = relation(
        ToOne("product_id"), "The product in its current state; null for callers without access to it."
    )
    name: str = output_field("The product's name.")
    quantity: BigInt = output_field("The number of units.")


@implements(AddressObject)
@object_type("CartAddress", access=VIEW_CARTS)
class CartAddressObject:
    """The shipping address of a cart."""

    name: str = output_field("The recipient's name.")
    street: str = output_field("The street.")
    number: str = output_field("The street number.")
    complement: str = output_field("Apartment, floor, etc.")
    district: str = output_field("The district (bairro).")
    city: str = output_field("The city.")
    state: str = output_field("The state as it was sent: its code, or the name of a state of Brazil.")
    zipcode: str = output_field("The CEP, eight digits.")
    country: str = output_field("The country code, ISO 3166 alpha-2.")
    phone: str = output_field("The phone number.")


@object_type("ShippingOption", access=VIEW_CARTS)
class ShippingOptionObject:
    """A shipping method available for a cart, with its price."""

    shipping_id: ID = output_field("The shipping method.")
    shipping_method: ShippingMethodObject | None = relation(ToOne("shipping_method_id"), "The shipping method.")
    name: str = output_field("The name of the shipping method.")
    price_cents: BigInt = output_field("The shipping price, in cents.")
    delivery_time: str = output_field("The estimated delivery time, as text.")


@object_type("CartWarning", access=VIEW_CARTS)
class CartWarningObject(CartItemWarningObject):
    """What a customer should know of a cart before the checkout."""

    item: CartItemObject | None = output_field("The cart line; null when none has the product, or for another subject.")
    product_id: ID | None = output_field("The product.")
    product: ProductObject | None = relation(
        ToOne("product_id"), "The product in its current state; null for callers without access to it."
    )


@object_type("Cart", access=VIEW_CARTS)
class CartObject:
    """A shopping cart; totals are recalculated on every read, no stock is reserved. Amounts in cents."""

    id: ID = output_field("The unguessable cart ID (UUIDv4); knowing it grants access to the cart.")
    status: CartStatus = output_field("The status.")
    currency: str = output_field("The currency, ISO 4217.")
    items: list[CartItemObject] = output_field("The cart lines, in the order they were added.", list_size=4)
    quantity_total: BigInt = output_field("The number of units of all cart lines.")
    gifts: list[CartGiftObject] = output_field(
        "The free gifts of promotions, as far as stock is available.", list_size=1
    )
    customer_email: str | None = output_field("The customer's e-mail address, if set.")
    address: CartAddressObject | None = output_field("The shipping address.")
    shipping_option: ShippingOptionObject | None = output_field(
        "The chosen shipping option; null if none was chosen or it is no longer available."
    )
    shipping_options: list[ShippingOptionObject] | None = output_field(
        "The shipping options for the cart's items and address, with current prices; empty for a closed cart.",
        list_size=5,
    )
    payment_methods: list[PaymentMethodObject] | None = output_field(
        "The payment methods that the checkout accepts; null for callers without access to them."
    )
    warnings: list[CartWarningObject] = output_field(
        "What the checkout would refuse, and prices that changed since the lines were added.", list_size=1
    )
    coupon_code: str | None = output_field("The applied coupon code.")
    points_to_use: int = output_field("The reward points that the customer wants to spend.")
    points_spent: int = output_field(
        "The points that the order would spend: as many of them as the account has and the order needs."
    )
    points_cents: BigInt = output_field("Their worth in cents, a part of the discount.")
    points_earned: int = output_field("The reward points that the order would earn.")
    subtotal_cents: BigInt = output_field("The sum of the cart lines, in cents.")
    discount_cents: BigInt = output_field("The discount, in cents.")
    shipping_cents: BigInt = output_field("The shipping cost, in cents.")
    tax_cents: BigInt = output_field("Taxes added to the prices, in cents.")
    total_cents: BigInt = output_field("The cart total before any payment method surcharge, in cents.")
    updated_at: DateTime = output_field("When the record was last updated.")
    expires_at: DateTime = output_field("When the cart expires unless it is updated again.")


@entity_type(CUSTOMER_CART_ITEMS, "CustomerCartItem")
class CustomerCartItemObject:
    """A line of a customer's open cart."""

    product_id: ID | None = column(referenced("products", "product_id"), "The product, even if it was deleted later.")
    product: ProductObject | None = relation(ToOne("product_id"), "The product in its current state.")
    product_number: BigInt = column("product_id", "The legacy numeric ID of the product.", internal=True)
    name: str = column("product_name", "The product's name when the cart was last changed.")
    sku: str | None = column(referenced("products", "product_id", "sku"), "The product's SKU.")
    quantity: BigInt = column(description="The number of units.")
    price_cents: BigInt = column(description="The unit price when the cart was last changed, in cents.")


@entity_type(CUSTOMER_CARTS, "CustomerCart")
class CustomerCartObject:
    """An open cart of a customer with the amounts of its last change. `cart` returns current totals."""

    id: ID = column("public_id", "The unguessable cart ID (UUIDv4); knowing it grants access to the cart.")
    customer_id: ID | None = column(referenced("users", "user_id"), "The customer's user account.")
    customer: UserObject | None = relation(ToOne("user_id"), "The customer's user account, for callers who may see it.")
    user_number: BigInt = column("user_id", "The legacy numeric ID of the customer.", internal=True)
    currency: str = column(description="The currency, ISO 4217.")
    items: list[CustomerCartItemObject] = relation(
        ToMany("t.cart_id", "t.id"), "The cart lines, in the order they were added."
    )
    subtotal_cents: BigInt = column(description="The sum of the cart lines, in cents.")
    discount_cents: BigInt = column(description="The discount, in cents.")
    shipping_cents: BigInt = column(description="The shipping cost, in cents.")
    total_cents: BigInt = column(description="The cart total, in cents.")
    updated_at: DateTime = column(description="When the cart was last changed.")
    updated_unix: BigInt = unix_seconds("updated_at", "The same")
    expires_at: DateTime = column(description="When the cart expires unless it is changed again.")


@object_type("PlacedOrderCustomer")
class PlacedOrderCustomerObject(OrderCustomerRecordObject):
    """The customer of a placed order; personal data only for callers that have proven access to it."""

    name: str = computed(own_data("btrim(t.firstname || ' ' || t.lastname)"), "First and last name.")
    email: str = computed(own_data("t.email"), "The e-mail address.")


@entity_type(PLACED_ORDERS, "PlacedOrder")
class PlacedOrderObject(OrderRecordObject):
    """An order as seen by the customer who placed it. Amounts in cents of its currency.

    Of an account's order the addresses, notes, name and e-mail address are shown to its customer only, and empty for others with its token.
    """

    notes: str = computed(own_data("t.notes"), "The customer's notes.")
    customer: PlacedOrderCustomerObject = embedded("The customer who placed the order.")
    payments: list[PaymentObject] = relation(
        ToMany("t.order_id", "t.sequence, t.id", entity=PAYMENTS), "The payments, oldest first."
    )
    shipments: list[ShipmentObject] = relation(ToMany("t.order_id", "t.id", entity=PLACED_SHIPMENTS), "The shipments.")


@object_type("CartCheckout", access=CHECK_OUT)
class CartCheckoutObject:
    """The result of a checkout."""

    token: str = output_field("The access token of the placed order.")
    order: PlacedOrderObject = output_field("The placed order.")


@input_type
class CartItemInput:
    """A cart line."""

    product_id: ID | None = optional_field("The product ID (UUID); not needed with `combination_id`.")
    combination_id: ID | None = optional_field("The combination of options; `options` then has the further ones only.")
    quantity: BigInt | None = required_field("The number of units, 1 or more.")
    options: JSON | None = optional_field("The chosen options: an object of option ID to variant ID or text.")


@input_type
class CartItemUpdateInput:
    """A change of a cart line. `combination_id` or `options` replace its whole choice."""

    id: ID = strawberry.field(description="The cart line.")
    quantity: BigInt | None = optional_field("The number of units; 0 removes the line.")
    combination_id: ID | None = optional_field("The combination of options; `options` then has the further ones only.")
    options: JSON | None = optional_field("The chosen options: an object of option ID to variant ID or text.")


@input_type
class CartInput:
    """A new cart. All fields are optional."""

    items: list[CartItemInput] | None = optional_field("The cart lines.")
    customer_email: str | None = optional_field("The customer's e-mail address.")


@input_type
class CartAddressInput(SavedAddressInput):
    """The complete shipping address of a cart."""

    zipcode: str | None = required_field("The CEP.")


@input_type
class CartCheckoutInput:
    """The customer and payment method of a checkout."""

    customer_id: ID | None = optional_field(
        "The customer's account; requires the customer's own token unless the key is a server-side key."
    )
    customer_email: str | None = optional_field("The customer's e-mail address; sufficient for a guest customer.")
    customer_name: str | None = optional_field("The customer's name.")
    payment_id: ID | None = optional_field("The payment method; required unless the total is 0.")
    notes: str | None = optional_field("The customer's notes.")
