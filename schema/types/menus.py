"""Define menus."""

from __future__ import annotations

import strawberry

from domain.content.menus import MENU_ITEMS, MENUS
from models.reading.queries import ToMany, ToOne
from schema.fields import column, entity_type, relation
from schema.inputs import input_type, one_of_input, optional_field, required_field
from schema.scalars import ID, DateTime
from schema.types.catalog import CategoryObject, ProductObject
from schema.types.collections import CollectionObject
from schema.types.content import PageObject
from schema.types.marketplace import VendorObject

_ORDER = "t.place, t.id"


@entity_type(MENU_ITEMS, "MenuItem")
class MenuItemObject:
    """An item of a menu, which leads to one of its records or its link; a heading leads nowhere. Shoppers see what they can open."""

    id: ID = column("public_id", "The unique ID (UUID).")
    name: str = column(description="The text.")
    category: CategoryObject | None = relation(ToOne("category_id"), "The category that it leads to.")
    collection: CollectionObject | None = relation(ToOne("collection_id"), "The collection that it leads to.")
    page: PageObject | None = relation(ToOne("page_id"), "The page that it leads to.")
    product: ProductObject | None = relation(ToOne("product_id"), "The product that it leads to.")
    vendor: VendorObject | None = relation(ToOne("vendor_id"), "The vendor that it leads to.")
    link: str | None = column(description="The path or the http or https address that it leads to.")
    items: list[MenuItemObject] = relation(
        ToMany("t.parent_node", _ORDER, parent="node"), "The items below it, in their order."
    )


@entity_type(MENUS, "Menu")
class MenuObject:
    """A menu of a storefront, such as that of its header or footer."""

    id: ID = column("public_id", "The unique ID (UUID).")
    handle: str = column(description="What storefronts know it by, such as `main-menu`; unique in the store.")
    name: str = column(description="The name.")
    items: list[MenuItemObject] = relation(
        ToMany("t.menu_id", _ORDER, where="t.parent_place IS NULL"), "The items of the first level, in their order."
    )
    created_at: DateTime = column(description="When it was created.")
    updated_at: DateTime = column(description="When it was last updated.")


@one_of_input
class MenuTargetInput:
    """What a menu item leads to: exactly one of these."""

    category_id: ID | None = optional_field("A category.")
    collection_id: ID | None = optional_field("A collection.")
    page_id: ID | None = optional_field("A page.")
    product_id: ID | None = optional_field("A product.")
    vendor_id: ID | None = optional_field("A vendor.")
    link: str | None = optional_field("A path or an http or https address.")


@input_type
class MenuItemInput:
    """An item of a menu."""

    name: str = strawberry.field(description="The text.")
    target: MenuTargetInput | None = optional_field("What it leads to; none for a heading.")
    items: list[MenuItemInput] | None = optional_field("The items below it; at most four levels in all.")


@input_type
class MenuInput:
    """Changes to a menu."""

    handle: str | None = optional_field("What storefronts know it by, 1 to 64 of `a-z`, `0-9`, `-` and `_`.")
    name: str | None = optional_field("The name.")
    items: list[MenuItemInput] | None = optional_field(
        "All of its items, at most 200; on update they replace those it has."
    )


@input_type
class MenuCreateInput(MenuInput):
    """A new menu."""

    handle: str | None = required_field("What storefronts know it by, 1 to 64 of `a-z`, `0-9`, `-` and `_`.")
    name: str | None = required_field("The name.")
