"""Make destinations, shipping rates, taxes and promotions."""

from __future__ import annotations

from tortoise.migrations.migration import Migration as Base
from tortoise.migrations.operations import AddField, Operation

from models.migrations._operations import StateOnly, field, run_files, store_model


class Migration(Base):
    """Follow the first tables."""

    dependencies: list[tuple[str, str]] = [("models", "0002_stores")]  # noqa: RUF012  # as Tortoise declares it
    operations: list[Operation] = [  # noqa: RUF012
        run_files(forward="0003_pricing", backward="0003_pricing_reverse.sql"),
        StateOnly(
            store_model(
                "Destination",
                "destinations",
                created_at="moment",
                updated_at="moment",
                deleted_at="moment?",
                name="text",
                status="text",
                countries="text[]",
                states="text[]",
                cities="text[]",
            ),
            store_model(
                "DestinationZipcode",
                "destination_zipcodes",
                destination="-> Destination.zipcodes",
                zipcode_from="text",
                zipcode_to="text",
            ),
            store_model(
                "ShippingRate",
                "shipping_rates",
                shipping_method="-> ShippingMethod.rates",
                destination="-> Destination.shipping_rates",
                base_cents="bigint",
                per_kg_cents="bigint",
                per_item_cents="bigint",
                max_weight_grams="bigint",
            ),
            store_model(
                "Tax",
                "taxes",
                created_at="moment",
                updated_at="moment",
                deleted_at="moment?",
                name="text",
                regnumber="text",
                address_type="text",
                rate_type="text",
                rate_value="bigint",
                price_includes_tax="bool",
                priority="int",
                status="text",
            ),
            store_model(
                "TaxRate",
                "tax_rates",
                tax="-> Tax.rates",
                destination="-> Destination.tax_rates",
                rate_type="text",
                rate_value="bigint",
            ),
            store_model(
                "ProductTax", "product_taxes", product="-> Product.tax_links", tax="-> Tax.product_links"
            ),
            store_model(
                "ShippingMethodTax",
                "shipping_method_taxes",
                shipping_method="-> ShippingMethod.tax_links",
                tax="-> Tax.shipping_links",
            ),
            store_model(
                "PaymentMethodTax",
                "payment_method_taxes",
                payment_method="-> PaymentMethod.tax_links",
                tax="-> Tax.payment_links",
            ),
            store_model(
                "OrderTax",
                "order_taxes",
                order="-> Order.taxes",
                tax="-> Tax.order_taxes?",
                name="text",
                rate_type="text",
                rate_value="bigint",
                included="bool",
                amount_cents="bigint",
                position="int",
            ),
            store_model(
                "Promotion",
                "promotions",
                created_at="moment",
                updated_at="moment",
                deleted_at="moment?",
                name="text",
                description="text",
                zone="text",
                conditions="json",
                bonuses="json",
                rule="json",
                gifts="json",
                coupon_code="text",
                coupon_key="text",
                usage_limit="bigint",
                usage_cap="bigint",
                used="bigint",
                once_per_customer="bool",
                from_at="moment?",
                to_at="moment?",
                priority="int",
                stop="bool",
                status="text",
            ),
            store_model(
                "PromotionUse",
                "promotion_uses",
                promotion="-> Promotion.uses",
                order="-> Order.promotion_uses",
                given_back="bool",
                created_at="moment",
            ),
            AddField("Order", "coupon_code", field("coupon_code", "text")),
            AddField("ShippingMethod", "service", field("service", "json")),
        ),
    ]
