"""Keep what a shop says of itself, in which languages, and to whom."""

from __future__ import annotations

from tortoise import fields

from models.base import Erasable, StoreManager


class Language(Erasable):
    """A language of the shop, by its code (`pt`). `direction` is `ltr` or `rtl`, `status` `A` or `D`."""

    code = fields.TextField()
    name = fields.TextField()
    country_code = fields.TextField(default="")
    direction = fields.TextField(default="ltr")
    status = fields.TextField(default="A")

    class Meta:
        table = "languages"
        manager = StoreManager()


class Page(Erasable):
    """A page beside the goods. `type` is `T` text, `L` a link, `F` a form, `B` a blog; `status` `A` or `D`."""

    parent = fields.ForeignKeyField("models.Page", null=True, related_name="children")
    vendor = fields.ForeignKeyField("models.Vendor", null=True, related_name="pages")
    name = fields.TextField()
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


class Block(Erasable):
    """A piece of a page's layout. `type` is any word; what it holds is for the storefront to read."""

    type = fields.TextField()
    name = fields.TextField()
    properties = fields.JSONField[dict[str, object]](default=dict)
    content = fields.JSONField[dict[str, object]](default=dict)
    status = fields.TextField(default="A")
    lang_code = fields.TextField()

    class Meta:
        table = "blocks"
        manager = StoreManager()


class Subscriber(Erasable):
    """An address that wants the shop's news. `status` is `A` or `D`."""

    email = fields.TextField()
    lang_code = fields.TextField()
    status = fields.TextField(default="A")

    class Meta:
        table = "subscribers"
        manager = StoreManager()


class CallRequest(Erasable):
    """Somebody who wants to be called. `status` is `N` new, `I` in progress, `C` completed, `F` no answer."""

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
