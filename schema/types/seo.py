"""Define the texts for search engines, of every type whose records have a page in a storefront."""

from __future__ import annotations

from typing import Any, TypeVar

from schema.fields import column, computed, embedded, object_type

T = TypeVar("T")


@object_type("Seo")
class SeoObject:
    """The texts of a record's page for search engines."""

    title: str = computed("coalesce(nullif(t.page_title, ''), t.name)", "The title; the record's name if none is set.")
    description: str = column("meta_description", "The description; empty if not set.")
    keywords: str = column("meta_keywords", "The keywords; empty if not set.")


def with_seo(cls: type[T]) -> type[T]:
    """Add the texts for search engines to a type whose table has the columns of `kernel.product_fields.SEO_FIELDS`, and `name`."""
    fields: dict[str, tuple[type, Any]] = {
        "seo": (SeoObject, embedded("The texts for search engines, as a page shows them.")),
        "page_title": (str, column(description="The title of the page for search engines; empty for the name.")),
        "meta_keywords": (str, column(description="The keywords for search engines.")),
        "meta_description": (str, column(description="The description for search engines.")),
    }
    cls.__annotations__ |= {name: type_ for name, (type_, _) in fields.items()}
    for name, (_, declared) in fields.items():
        setattr(cls, name, declared)
    return cls
