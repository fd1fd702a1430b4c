"""Languages, language variables, pages, layout blocks, redirects, menus, newsletter subscribers and call requests."""

from __future__ import annotations

from tortoise import fields

from models.tables.base import SoftDeletable, StoreModel, Timestamped


class Language(SoftDeletable, table="languages"):
    """A language of the store, by its code (`pt`). `direction` is `ltr` or `rtl`, `status` `A` or `D`."""

    code = fields.TextField()
    name = fields.TextField()
    country_code = fields.TextField(default="")
    direction = fields.TextField(default="ltr")
    status = fields.TextField(default="A")


class LanguageVariable(Timestamped, table="language_variables"):
    """A text of the storefronts, by name and language."""

    name = fields.TextField()
    value = fields.TextField(default="")
    lang_code = fields.TextField()


class Page(SoftDeletable, table="pages"):
    """A content page. `type` is `T` text, `L` link, `F` form, `B` blog; `status` is `A` or `D`; lists leave `hidden` ones out."""

    parent = fields.ForeignKeyField("models.Page", null=True, related_name="children")
    vendor = fields.ForeignKeyField("models.Vendor", null=True, related_name="pages")
    name = fields.TextField()
    slug = fields.TextField(default="")  # a trigger makes an empty one from the name
    type = fields.TextField(default="T")
    link = fields.TextField(default="")
    description = fields.TextField(default="")
    meta_keywords = fields.TextField(default="")
    meta_description = fields.TextField(default="")
    seo_title = fields.TextField(default="")
    page_title = fields.TextField(generated=True)  # seo_title
    position = fields.IntField(default=0)
    status = fields.TextField(default="A")
    hidden = fields.BooleanField(default=False)
    lang_code = fields.TextField()
    image_url = fields.TextField(default="")
    image_alt = fields.TextField(default="")
    media = fields.ForeignKeyField("models.MediaFile", null=True, related_name="pages")


class Block(SoftDeletable, table="blocks"):
    """A layout block. `type` and content are interpreted by the storefront."""

    type = fields.TextField()
    name = fields.TextField()
    properties = fields.JSONField[dict[str, object]](default=dict)
    content = fields.JSONField[dict[str, object]](default=dict)
    status = fields.TextField(default="A")
    lang_code = fields.TextField()


class Redirect(Timestamped, table="redirects"):
    """A path that leads to a record at its present address, or to a link; exactly one of these is set."""

    path = fields.TextField()
    product = fields.ForeignKeyField("models.Product", null=True, related_name="redirects")
    category = fields.ForeignKeyField("models.Category", null=True, related_name="redirects")
    page = fields.ForeignKeyField("models.Page", null=True, related_name="redirects")
    vendor = fields.ForeignKeyField("models.Vendor", null=True, related_name="redirects")
    collection = fields.ForeignKeyField("models.ProductCollection", null=True, related_name="redirects")
    link = fields.TextField(null=True)


class Menu(Timestamped, table="menus"):
    """A menu of the storefronts, which know it by its handle."""

    handle = fields.TextField()
    name = fields.TextField()


class MenuItem(StoreModel, table="menu_items"):
    """An item of a menu, below the one at `parent_place`. At most one of the records and the link is set, none of a heading."""

    menu = fields.ForeignKeyField("models.Menu", related_name="items")
    place = fields.IntField()
    parent_place = fields.IntField(null=True)
    name = fields.TextField()
    product = fields.ForeignKeyField("models.Product", null=True, related_name="menu_items")
    category = fields.ForeignKeyField("models.Category", null=True, related_name="menu_items")
    page = fields.ForeignKeyField("models.Page", null=True, related_name="menu_items")
    vendor = fields.ForeignKeyField("models.Vendor", null=True, related_name="menu_items")
    collection = fields.ForeignKeyField("models.ProductCollection", null=True, related_name="menu_items")
    link = fields.TextField(null=True)
    node = fields.BigIntField(generated=True)
    parent_node = fields.BigIntField(null=True, generated=True)


class Subscriber(SoftDeletable, table="subscribers"):
    """A newsletter subscriber. `status` is `A` or `D`."""

    email = fields.TextField()
    lang_code = fields.TextField()
    status = fields.TextField(default="A")


class CallRequest(SoftDeletable, table="call_requests"):
    """A request for a call back. `status` is `N` new, `I` in progress, `C` completed, `F` no answer."""

    name = fields.TextField(default="")
    phone = fields.TextField()
    time_from = fields.TextField(default="")
    time_to = fields.TextField(default="")
    product = fields.ForeignKeyField("models.Product", null=True, related_name="call_requests")
    order = fields.ForeignKeyField("models.Order", null=True, related_name="call_requests")
    notes = fields.TextField(default="")
    status = fields.TextField(default="N")
