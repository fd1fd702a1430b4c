"""Make carts and what they hold."""

from __future__ import annotations

from tortoise.migrations.migration import Migration as Base
from tortoise.migrations.operations import Operation

from models.migrations._operations import StateOnly, run_files, store_model


class Migration(Base):
    """Hold the tables of shoppers' carts."""

    dependencies: list[tuple[str, str]] = [("models", "0004_notifications")]  # noqa: RUF012  # as Tortoise declares it
    operations: list[Operation] = [  # noqa: RUF012
        run_files(forward="0005_carts", backward="0005_carts_reverse.sql"),
        StateOnly(
            store_model(
                "Cart",
                "carts",
                created_at="moment",
                updated_at="moment",
                user="-> User.carts?",
                status="text",
                currency="text",
                customer_email="text",
                address="json?",
                shipping_method="-> ShippingMethod.carts?",
                coupon_code="text",
                subtotal_cents="bigint",
                discount_cents="bigint",
                shipping_cents="bigint",
                total_cents="bigint",
                order="-> Order.carts?",
                content_hash="bytes?",
                ordered_at="moment?",
                told_at="moment?",
                is_untold="bool",
                expires_at="moment",
            ),
            store_model(
                "CartItem",
                "cart_items",
                cart="-> Cart.items",
                product="-> Product.cart_items",
                quantity="bigint",
                options="json",
                options_key="text",
                product_name="text",
                price_cents="bigint",
            ),
        ),
    ]
