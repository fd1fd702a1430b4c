"""Languages, language variables, pages, layout blocks, newsletter subscribers and call requests."""

from __future__ import annotations

from tortoise import fields

from models.base import SoftDeletable, StoreManager, Timestamped


class Language(SoftDeletable):
    """A language of the store, by its code (`pt`). `direction` is `ltr` or `rtl`, `status` `A` or `D`."""

    code = fields.TextField()
    name = fields.TextField()
    country_code = fields.TextField(default="")
    direction = fields.TextField(default="ltr")
    status = fields.TextField(default="A")

    class Meta:
        table = "languages"
        manager = StoreManager()


class LanguageVariable(Timestamped):
    """A text of the storefronts, by name and language."""

    name = fields.TextField()
    value = fields.TextField(default="")
    lang_code = fields.TextField()

    class Meta:
        table = "language_variables"
        manager = StoreManager()


class Page(SoftDeletable):
    """A content page. `type` is `T` text, `L` link, `F` form, `B` blog; `status` is `A` or `D`."""

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
    position = fields.IntField(default=0)
    status = fields.TextField(default="A")
    lang_code = fields.TextField()

    class Meta:
        table = "pages"
        manager = StoreManager()


class Block(SoftDeletable):
    """A layout block. `type` and content are interpreted by the storefront."""

    type = fields.TextField()
    name = fields.TextField()
    properties = fields.JSONField[dict[str, object]](default=dict)
    content = fields.JSONField[dict[str, object]](default=dict)
    status = fields.TextField(default="A")
    lang_code = fields.TextField()

    class Meta:
        table = "blocks"
        manager = StoreManager()


class Subscriber(SoftDeletable):
    """A newsletter subscriber. `status` is `A` or `D`."""

    email = fields.TextField()
    lang_code = fields.TextField()
    status = fields.TextField(default="A")

    class Meta:
        table = "subscribers"
        manager = StoreManager()


class CallRequest(SoftDeletable):
    """A request for a call back. `status` is `N` new, `I` in progress, `C` completed, `F` no answer."""

    name = fields.TextField(default="")
    phone = fields.TextField()
    time_from = fields.TextField(default="")
    time_to = fields.TextField(default="")
    product = fields.ForeignKeyField("models.Product", null=True, related_name="call_requests")
    order = fields.ForeignKeyField("models.Order", null=True, related_name="call_requests")
    notes = fields.TextField(default="")
    status = fields.TextField(default="N")

    class Meta:
        table = "call_requests"
        manager = StoreManager()
