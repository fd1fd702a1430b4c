"""Make options, combinations, exceptions, attachments, required products and boxes; lines of orders know what was chosen."""

from __future__ import annotations

from tortoise.migrations.migration import Migration as Base
from tortoise.migrations.operations import AddField, Operation

from models.migrations._operations import StateOnly, field, run_files, store_model

_STAMPS = {"created_at": "moment", "updated_at": "moment"}
_ERASABLE = {**_STAMPS, "deleted_at": "moment?"}


class Migration(Base):
    """Hold what buyers choose."""

    dependencies: list[tuple[str, str]] = [("models", "0006_statuses")]  # noqa: RUF012  # as Tortoise declares it
    operations: list[Operation] = [  # noqa: RUF012
        run_files(forward="0007_options", backward="0007_options_reverse.sql"),
        StateOnly(
            store_model(
                "Option",
                "options",
                **_ERASABLE,
                product="-> Product.own_options?",
                vendor="-> Vendor.options?",
                name="text",
                type="text",
                required="bool",
                inventory="bool",
                status="text",
                position="int",
                description="text",
            ),
            store_model(
                "OptionVariant",
                "option_variants",
                option="-> Option.variants",
                name="text",
                modifier="bigint",
                modifier_type="text",
                position="int",
                image_url="text",
                image_alt="text",
            ),
            store_model(
                "ProductOption",
                "product_options",
                product="-> Product.option_links",
                option="-> Option.product_links",
                position="int",
            ),
            store_model(
                "Combination",
                "combinations",
                **_ERASABLE,
                product="-> Product.combinations",
                hash="text",
                sku="text",
                price_cents="bigint",
                on_hand="bigint",
                reserved="bigint",
                stock="bigint!",
                position="int",
                image_url="text",
                image_alt="text",
                image_width="int",
                image_height="int",
            ),
            store_model(
                "CombinationChoice",
                "combination_choices",
                combination="-> Combination.choices",
                option="-> Option.combination_choices",
                variant="-> OptionVariant.combination_choices",
            ),
            store_model(
                "OptionException",
                "option_exceptions",
                **_STAMPS,
                product="-> Product.exceptions",
                type="text",
                hash="text",
            ),
            store_model(
                "ExceptionChoice",
                "exception_choices",
                exception="-> OptionException.choices",
                option="-> Option.exception_choices",
                variant="-> OptionVariant.exception_choices",
            ),
            store_model(
                "Attachment",
                "attachments",
                **_STAMPS,
                product="-> Product.attachments",
                description="text",
                filename="text",
                url="text",
                filesize="bigint",
                position="int",
                status="text",
            ),
            store_model(
                "RequiredProduct",
                "required_products",
                product="-> Product.requirements",
                required="-> Product.required_by",
                position="int",
            ),
            store_model(
                "ProductBox",
                "product_boxes",
                **_ERASABLE,
                name="text",
                height_mm="bigint",
                width_mm="bigint",
                length_mm="bigint",
                weight_grams="bigint",
                max_weight_grams="bigint",
                status="text",
                position="int",
            ),
            store_model(
                "BoxDescription",
                "box_descriptions",
                box="-> ProductBox.descriptions",
                lang_code="text",
                title="text",
                full_description="text",
                meta_keywords="text",
                meta_description="text",
            ),
            AddField("OrderLine", "combination", field("combination", "-> Combination.order_lines?")),
            AddField("OrderLine", "options", field("options", "json")),
        ),
    ]
