"""Define carts, the ways in which they can travel, and orders as who placed them sees them."""

from __future__ import annotations

import strawberry

from auth.access import Access
from domain.carts.placed import CHECKOUT, PLACED_ORDER_LINES, PLACED_ORDERS, told
from models.reading import ToMany, ToOne
from schema.fields import column, embedded, entity, part, relation
from schema.scalars import BigInt, Ident, Json, OrderStatus, Time
from schema.types.orders import PaymentMethodObject, ShippingMethodObject

CART = "storefront:cart"
_OPENED_BY_ID = (
    "The id alone opens the cart; a customer's own token opens that customer's carts and those of nobody yet."
)
SEE_CARTS = Access(
    privileges=("view_orders",), app_scope="read_orders", customer=True, storefront=CART, note=_OPENED_BY_ID
)
CHANGE_CARTS = Access(privileges=("manage_orders",), customer=True, storefront=CART, note=_OPENED_BY_ID)
CHECK_OUT = Access(privileges=("manage_orders",), customer=True, storefront=CHECKOUT, note=_OPENED_BY_ID)


@part("CartItem", "Some units of one product in a cart, at today's price.", access=SEE_CARTS)
class CartItemObject:
    """An item of a cart."""

    id: Ident = strawberry.field(description="The UUID.")
    product_id: Ident = strawberry.field(description="The product.")
    name: str = strawberry.field(description="The product's name.")
    quantity: BigInt = strawberry.field(description="How many units.")
    price_cents: BigInt = strawberry.field(description="The price of a unit in cents.")
    total_cents: BigInt = strawberry.field(description="Quantity times price, in cents.")
    options: Json = strawberry.field(
        description="What was chosen of the product, as it was asked for: option id to variant id, or to a text."
    )
    chosen: Json = strawberry.field(
        description="The same to be read: a list of `{option_id, name, variant_id, value, modifier, modifier_type}`."
    )
    is_available: bool = strawberry.field(
        description="Whether the product is on sale; its stock is looked at by the checkout."
    )


@part("CartGift", "Units that a promotion would add to the order for nothing.", access=SEE_CARTS)
class CartGiftObject:
    """A gift."""

    product_id: Ident = strawberry.field(description="The product.")
    name: str = strawberry.field(description="The product's name.")
    quantity: BigInt = strawberry.field(description="How many units.")


@part("CartAddress", "Where a cart goes.", access=SEE_CARTS)
class CartAddressObject:
    """An address as the shopper gave it."""

    name: str = strawberry.field(description="Who receives it.")
    street: str = strawberry.field(description="The street.")
    number: str = strawberry.field(description="The number in the street.")
    complement: str = strawberry.field(description="Flat, floor, ….")
    district: str = strawberry.field(description="The district (bairro).")
    city: str = strawberry.field(description="The city.")
    state: str = strawberry.field(description="The state, two letters.")
    zipcode: str = strawberry.field(description="The CEP, its eight digits.")
    country: str = strawberry.field(description="The country, ISO 3166 code of two letters.")
    phone: str = strawberry.field(description="The phone number.")


@part("ShippingOption", "A way in which a cart can travel, and its price.", access=SEE_CARTS)
class ShippingOptionObject:
    """A quote."""

    shipping_id: Ident = strawberry.field(description="The shipping method.")
    name: str = strawberry.field(description="The method's name.")
    price_cents: BigInt = strawberry.field(description="What it costs, in cents.")
    delivery_time: str = strawberry.field(description="How long it takes, as text.")


@part(
    "Cart",
    "What somebody means to buy, added up anew whenever it is read. Nothing in it is reserved. Money in cents.",
    access=SEE_CARTS,
)
class CartObject:
    """A cart."""

    id: Ident = strawberry.field(description="The UUID, version 4: whoever knows it may open the cart.")
    status: str = strawberry.field(description="`open`, `ordered` or `expired`.")
    currency: str = strawberry.field(description="The currency, ISO 4217.")
    items: list[CartItemObject] = strawberry.field(description="What is in it, in the order it was put in.")
    gifts: list[CartGiftObject] = strawberry.field(
        description="What promotions would add to the order for nothing, as far as it is there."
    )
    customer_email: str | None = strawberry.field(description="Whose it is, as far as a request said so.")
    address: CartAddressObject | None = strawberry.field(description="Where it goes.")
    shipping_option: ShippingOptionObject | None = strawberry.field(
        description="How it travels; null when none was chosen, or the chosen one is not offered any more."
    )
    coupon_code: str | None = strawberry.field(description="The coupon it bears.")
    subtotal_cents: BigInt = strawberry.field(description="The sum of the items, in cents.")
    discount_cents: BigInt = strawberry.field(description="What is taken off, in cents.")
    shipping_cents: BigInt = strawberry.field(description="The price of shipping, in cents.")
    tax_cents: BigInt = strawberry.field(description="Taxes that are added, in cents.")
    total_cents: BigInt = strawberry.field(
        description="What is to be paid, in cents, before what a way to pay adds."
    )
    updated_at: Time = strawberry.field(description="When it was last changed.")
    expires_at: Time = strawberry.field(description="When it expires unless it is changed again.")


@entity(PLACED_ORDER_LINES, "PlacedOrderLine", "Some units of one product at one price.")
class PlacedOrderLineObject:
    """A row of `order_lines`, as its buyer sees it."""

    product_id: Ident | None = column(
        "(SELECT p.public_id FROM products p WHERE p.tenant_id = t.tenant_id AND p.id = t.product_id)",
        "The product, also when it was deleted since.",
    )
    name: str = column("product_name", "The product's name as sold.")
    quantity: BigInt = column(description="How many units.")
    price_cents: BigInt = column(description="The price of a unit in cents.")


@part("PlacedOrderCustomer", "Who placed an order, as far as the caller has shown to know it.")
class PlacedOrderCustomerObject:
    """Columns of the order; what belongs to an account is blank for all but its holder."""

    id: Ident | None = column(
        "(SELECT u.public_id FROM users u WHERE u.tenant_id = t.tenant_id AND u.id = t.user_id)",
        "The account; null for a guest.",
    )
    name: str = column(told("btrim(t.firstname || ' ' || t.lastname)"), "First and last name.")
    email: str = column(told("t.email"), "The e-mail address.")


@entity(
    PLACED_ORDERS, "PlacedOrder", "An order as whoever placed it sees it. Money in cents of its currency."
)
class PlacedOrderObject:
    """A row of `orders`."""

    id: Ident = column("public_id", "The UUID.")
    number: BigInt = column("id", "The number shown to people.")
    status: OrderStatus = column(description="The status letter.")
    currency: str = column(description="The currency, ISO 4217.")
    subtotal_cents: BigInt = column(description="The sum of the lines, in cents.")
    discount_cents: BigInt = column(description="What was taken off, in cents.")
    shipping_cents: BigInt = column(description="The price of shipping, in cents.")
    surcharge_cents: BigInt = column(description="What the payment method adds, in cents.")
    tax_cents: BigInt = column(description="Taxes, in cents.")
    total_cents: BigInt = column(description="What is to be paid, in cents.")
    payment_status: str = column(
        description="`unpaid`, `paid`, `partially_refunded`, `refunded` or `chargeback`."
    )
    tracking_code: str | None = column(description="The carrier's code of the latest parcel.")
    customer: PlacedOrderCustomerObject = embedded("Who placed it.")
    items: list[PlacedOrderLineObject] = relation(ToMany("t.order_id", "t.position"), "What was bought.")
    payment_method: PaymentMethodObject | None = relation(
        ToOne("payment_method_id"), "How it is paid, and what the buyer is told about it."
    )
    shipping_method: ShippingMethodObject | None = relation(ToOne("shipping_method_id"), "How it travels.")
    created_at: Time = column(description="When it was placed.")
    updated_at: Time = column(description="When it was last changed.")


@part("CartCheckout", "The order that a cart became.", access=CHECK_OUT)
class CartCheckoutObject:
    """What a checkout gives."""

    token: str = strawberry.field(description="What opens the order for whoever placed it.")
    order: PlacedOrderObject = strawberry.field(description="The order.")
