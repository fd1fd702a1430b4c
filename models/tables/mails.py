"""The mail queue, and tokens sent by mail."""

from __future__ import annotations

from tortoise import fields

from kernel.clock import now
from models.tables.base import StoreModel


class MailedToken(StoreModel, table="mailed_tokens"):
    """A token sent by mail for a `domain.people.mailed_tokens.TokenPurpose`; `new_email` is the address that an `email_change` confirms."""

    user = fields.ForeignKeyField("models.User", null=True, related_name="mailed_tokens")
    purpose = fields.TextField()
    email = fields.TextField()
    new_email = fields.TextField(null=True)
    token_hash = fields.BinaryField()
    created_at = fields.DatetimeField(default=now)
    expires_at = fields.DatetimeField()


class StockNotice(StoreModel, table="stock_notices"):
    """An address that gets a mail when a product, or a combination of it, can be bought again."""

    email = fields.TextField()
    product = fields.ForeignKeyField("models.Product", related_name="stock_notices")
    combination = fields.ForeignKeyField("models.Combination", null=True, related_name="stock_notices")
    created_at = fields.DatetimeField(default=now)


class Mail(StoreModel, table="mails"):
    """A mail. `status` is `Q` queued, `S` sent, `F` failed, `N` without recipient; `body` is encrypted and removed once sent."""

    user = fields.ForeignKeyField("models.User", null=True, related_name="mails")
    kind = fields.TextField()
    recipient = fields.TextField()
    subject = fields.TextField()
    body = fields.BinaryField(null=True)
    status = fields.TextField(default="Q")
    tries = fields.IntField(default=0)
    error = fields.TextField(default="")
    created_at = fields.DatetimeField(default=now)
    due_at = fields.DatetimeField()
    expires_at = fields.DatetimeField()
    sent_at = fields.DatetimeField(null=True)
