"""Keep languages, pages, blocks, subscribers and requests to be called."""

from __future__ import annotations

from tortoise.migrations.migration import Migration as Base
from tortoise.migrations.operations import Operation

from models.migrations._operations import StateOnly, run_files, store_model


class Migration(Base):
    """Add five tables, and a language to every store."""

    dependencies: list[tuple[str, str]] = [("models", "0010_b2b")]  # noqa: RUF012  # as Tortoise declares it
    operations: list[Operation] = [  # noqa: RUF012
        run_files(forward="0011_content", backward="0011_content_reverse.sql"),
        StateOnly(
            store_model(
                "Language",
                "languages",
                created_at="moment",
                updated_at="moment",
                deleted_at="moment?",
                code="text",
                name="text",
                country_code="text",
                direction="text",
                status="text",
            ),
            store_model(
                "Page",
                "pages",
                created_at="moment",
                updated_at="moment",
                deleted_at="moment?",
                parent="-> Page.children?",
                vendor="-> Vendor.pages?",
                name="text",
                type="text",
                link="text",
                description="text",
                meta_keywords="text",
                meta_description="text",
                seo_title="text",
                position="int",
                status="text",
                lang_code="text",
            ),
            store_model(
                "Block",
                "blocks",
                created_at="moment",
                updated_at="moment",
                deleted_at="moment?",
                type="text",
                name="text",
                properties="json",
                content="json",
                status="text",
                lang_code="text",
            ),
            store_model(
                "Subscriber",
                "subscribers",
                created_at="moment",
                updated_at="moment",
                deleted_at="moment?",
                email="text",
                lang_code="text",
                status="text",
            ),
            store_model(
                "CallRequest",
                "call_requests",
                created_at="moment",
                updated_at="moment",
                deleted_at="moment?",
                name="text",
                phone="text",
                time_from="text",
                time_to="text",
                product="-> Product.call_requests?",
                order="-> Order.call_requests?",
                notes="text",
                status="text",
            ),
        ),
    ]
