"""Convert languages, statuses, pages and discussions."""

from __future__ import annotations

from typing import Any

from domain.content.languages import LANGUAGE_FIELDS
from domain.content.pages import PAGE_FIELDS
from domain.imports.numbered import ImportKind, ImportTable, PartNumbers, Rows
from domain.marketplace.reviews import STAFF_FIELDS, STORE_OBJECT_ID, THREAD_FIELDS
from domain.orders.statuses import ORDERS, PARAMS_FIELDS, STATUS_FIELDS
from kernel.product_fields import SEO_FIELDS
from models.tables.content import Language, Page
from models.tables.marketplace import DiscussionPost, DiscussionThread
from models.tables.orders import Status
from server.importers.cscart.addresses import former_addresses, redirect_rows
from server.importers.cscart.context import IMAGE_COLUMNS, Context
from server.importers.cscart.values import (
    NotBrought,
    Record,
    entries,
    flag,
    integer,
    moment,
    number,
    own_number,
    position,
    text,
)

LANGUAGE = ImportKind("language", ImportTable(Language, natural_key=("code",)))


def convert_language(context: Context, record: Record) -> Rows:
    """Convert a language."""
    values = {
        "code": text(record, "lang_code"),
        "name": text(record, "name") or text(record, "lang_code"),
        "country_code": text(record, "country_code"),
        "direction": text(record, "direction") or "ltr",
        "status": "A" if text(record, "status", "A") == "A" else "D",
    }
    columns = context.columns(LANGUAGE_FIELDS, values, droppable=("country_code", "direction"))
    if columns["code"] not in context.languages:
        context.languages.append(columns["code"])
    return {"languages": [{"id": own_number(record, "lang_id"), **columns, **context.times(None)}]}


# --- Statuses --------------------------------------------------------------------------------------------------------------------

STATUS = ImportKind(
    "status",
    ImportTable(
        Status,
        without=("built_in",),
        # A built-in status keeps its rule, on which the order lifecycle depends.
        on_update={"inventory": "CASE WHEN statuses.built_in THEN statuses.inventory ELSE excluded.inventory END"},
        natural_key=("type", "letter"),
    ),
)


def convert_status(context: Context, record: Record) -> Rows:
    """Convert a status of orders or shipments."""
    params = entries(record.get("params"))
    values = {
        "type": text(record, "type", ORDERS),
        "letter": text(record, "status"),
        "description": text(record, "description"),
        "color": text(record, "color") or text(params, "color"),
        "position": position(record),
    }
    columns = context.columns(STATUS_FIELDS, values, droppable=("color",))
    is_order = columns["type"] == ORDERS
    rules: dict[str, Any] = {"notify": flag(params, "notify", default=True)}
    rules |= {"inventory": text(params, "inventory", "D") or "D"} if is_order else {}
    columns |= context.columns(PARAMS_FIELDS, rules)
    context.status_letters.setdefault(columns["type"], set()).add(columns["letter"])
    return {"statuses": [{"id": own_number(record, "status_id"), "inventory": None, **columns, **context.times(None)}]}


# --- Pages -----------------------------------------------------------------------------------------------------------------------

PAGE = ImportKind("page", ImportTable(Page, without=IMAGE_COLUMNS), former_addresses("pages"))


def convert_page(context: Context, record: Record) -> Rows:
    """Convert a content page."""
    values = {
        "name": text(record, "page"),
        "type": text(record, "page_type", "T"),
        "position": position(record),
        "status": "A" if text(record, "status", "A") in ("A", "H") else "D",
        "hidden": text(record, "status") == "H",
        "slug": text(record, "seo_name"),
        **{name: text(record, name) for name in ("link", "description", *SEO_FIELDS)},
    }
    columns = context.columns(PAGE_FIELDS, values, droppable=("link", "slug"))
    page = own_number(record, "page_id")
    parent = context.required(record, "parent_id", "pages") if number(record, "parent_id") else None
    row = {
        "id": page,
        **columns,
        "parent_id": parent,
        "vendor_id": context.optional(record, "company_id", "vendors"),
        "lang_code": context.language(record),
        **context.times(moment(record, "timestamp")),
    }
    return {"pages": [row], "redirects": redirect_rows(context, "pages", page, record, parent=parent)}


# --- Discussions -----------------------------------------------------------------------------------------------------------------

DISCUSSION = ImportKind(
    "discussion",
    ImportTable(DiscussionThread, owner="object_id", numbers=PartNumbers.KEPT, shared=("object_type", "object_id")),
    ImportTable(DiscussionPost),
)
_SUBJECTS = {"P": "products", "C": "categories", "A": "pages", "O": "orders"}


def convert_discussion(context: Context, record: Record) -> Rows:
    """Convert a post and the thread it is in."""
    thread: dict[str, Any] = context.columns(
        THREAD_FIELDS, {"object_type": text(record, "object_type"), "type": text(record, "type") or "B"}
    )
    subject = _SUBJECTS.get(thread["object_type"])
    object_id = STORE_OBJECT_ID if subject is None else context.required(record, "object_id", subject)
    rating = integer(record, "rating_value") or None
    values = {
        "name": text(record, "name"),
        "message": text(record, "message"),
        "rating": rating,
        "status": text(record, "status", "A"),
        "ip_address": text(record, "ip_address"),
    }
    columns = context.columns(STAFF_FIELDS, values, droppable=("rating", "ip_address"))
    thread_id = number(record, "thread_id")
    if thread_id is None:
        raise NotBrought("thread_id is missing")
    post = {
        "id": own_number(record, "post_id"),
        "thread_id": thread_id,
        "user_id": context.optional(record, "user_id", "users"),
        **columns,
        **context.times(moment(record, "timestamp")),
    }
    return {"discussion_threads": [{"id": thread_id, **thread, "object_id": object_id}], "discussion_posts": [post]}
