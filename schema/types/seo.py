"""Define the texts for search engines, of every type whose records have a page in a storefront."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from schema.fields import column, computed, embedded, object_type
from schema.unset import Unset

T = TypeVar("T")
_TEXTS = {
    "page_title": "The title of the page for search engines; empty for the name.",
    "meta_keywords": "The keywords for search engines.",
    "meta_description": "The description for search engines.",
}


@object_type("Seo")
class SeoObject:
    """The texts of a record's page for search engines."""

    title: str = computed("coalesce(nullif(t.page_title, ''), t.name)", "The title; the record's name if none is set.")
    description: str = column("meta_description", "The description; empty if not set.", unset=Unset.LATER)
    keywords: str = column("meta_keywords", "The keywords; empty if not set.", unset=Unset.NULL)


def with_seo(*released: str) -> Callable[[type[T]], type[T]]:
    """Add the texts for search engines to a type whose table has the columns of `kernel.product_fields.SEO_FIELDS`, and `name`.

    Those that the last release has as non-null are `released`.
    """

    def decorate(cls: type[T]) -> type[T]:
        cls.__annotations__ |= {"seo": SeoObject, **dict.fromkeys(_TEXTS, str)}
        cls.seo = embedded("The texts for search engines, as a page shows them.")  # type: ignore[attr-defined]
        for name, text in _TEXTS.items():
            setattr(cls, name, column(description=text, unset=Unset.LATER if name in released else Unset.NULL))
        return cls

    return decorate
