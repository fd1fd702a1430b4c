"""Third-party apps, their installations, grants and tokens; storefront keys."""

from __future__ import annotations

from tortoise import fields
from tortoise.contrib.postgres.fields import ArrayField
from tortoise.models import Model

from kernel.clock import now
from kernel.ids import uuid7
from models.tables.base import StoreModel


class App(Model):
    """An app that any store may install. `registered_in` is null for the platform operator's apps."""

    id = fields.BigIntField(primary_key=True)
    public_id = fields.UUIDField(default=uuid7)
    client_id = fields.TextField()
    name = fields.TextField()
    mode = fields.TextField()
    redirect_uris = ArrayField(element_type="text")
    scopes = ArrayField(element_type="text")
    secret_hash = fields.BinaryField()
    secret_sealed = fields.BinaryField()
    previous_secret_hash = fields.BinaryField(null=True)
    previous_secret_sealed = fields.BinaryField(null=True)
    previous_secret_until = fields.DatetimeField(null=True)
    registered_in = fields.BigIntField(null=True)
    created_at = fields.DatetimeField(default=now)
    call_urls = fields.JSONField[dict[str, str]](default=dict)

    class Meta:
        table = "apps"


class AppInstallation(StoreModel, table="app_installations"):
    """An installation of an app in a store; removed ones are retained, so that the error for their tokens states the reason."""

    app_id = fields.BigIntField()
    scopes = ArrayField(element_type="text")
    rate_limit = fields.IntField(default=120)
    installed_at = fields.DatetimeField(default=now)
    updated_at = fields.DatetimeField(default=now)
    removed_at = fields.DatetimeField(null=True)


class AppGrant(StoreModel, table="app_grants"):
    """An OAuth grant: the authorization code and its tokens."""

    installation = fields.ForeignKeyField("models.AppInstallation", related_name="grants")
    code_hash = fields.BinaryField()
    redirect_uri = fields.TextField()
    code_challenge = fields.TextField(null=True)
    scopes = ArrayField(element_type="text")
    created_at = fields.DatetimeField(default=now)
    code_expires_at = fields.DatetimeField()
    exchanged_at = fields.DatetimeField(null=True)
    revoked_at = fields.DatetimeField(null=True)
    revoke_reason = fields.TextField(default="")


class AppToken(StoreModel, table="app_tokens"):
    """A token of an app: `kind` is `A` access or `R` refresh. A refresh token is single-use (`used_at`)."""

    grant = fields.ForeignKeyField("models.AppGrant", related_name="tokens")
    kind = fields.TextField()
    token_hash = fields.BinaryField()
    scopes = ArrayField(element_type="text")
    created_at = fields.DatetimeField(default=now)
    expires_at = fields.DatetimeField()
    used_at = fields.DatetimeField(null=True)
    revoked_at = fields.DatetimeField(null=True)


class AppCall(StoreModel, table="app_calls"):
    """A call of the store to an installed app: `name` as in `domain.app_calls.call_types`, `subject_id` what it is about."""

    installation = fields.ForeignKeyField("models.AppInstallation", related_name="calls")
    name = fields.TextField()
    subject_id = fields.TextField(default="")
    state = fields.TextField()
    status = fields.IntField(null=True)
    reason = fields.TextField(default="")
    duration_ms = fields.IntField(default=0)
    request_id = fields.TextField(default="")
    created_at = fields.DatetimeField(default=now)


class StorefrontKey(StoreModel, table="storefront_keys"):
    """A key of a headless storefront; a `server_side` one is never sent to a browser and may act for customers."""

    key_hash = fields.BinaryField()
    hint = fields.TextField(default="")
    name = fields.TextField(default="")
    scopes = ArrayField(element_type="text")
    rate_limit = fields.IntField(default=60_000)
    per_address = fields.IntField(default=0)
    server_side = fields.BooleanField(default=False)
    trusted_documents_only = fields.BooleanField(default=False)
    documents_version = fields.IntField(default=0)
    created_at = fields.DatetimeField(default=now)
    last_used_at = fields.DatetimeField(null=True)
    revoked_at = fields.DatetimeField(null=True)


class SchemaUsage(StoreModel, table="schema_usage"):
    """How often an app, the callers with a storefront key or the other users of a kind used a field (`domain/apps/schema_usage.py`)."""

    field = fields.TextField()
    is_deprecated = fields.BooleanField()
    caller = fields.TextField()
    installation = fields.ForeignKeyField("models.AppInstallation", null=True, related_name="schema_usage")
    storefront_key = fields.ForeignKeyField("models.StorefrontKey", null=True, related_name="schema_usage")
    uses = fields.BigIntField()
    first_used_at = fields.DatetimeField(default=now)
    last_used_at = fields.DatetimeField(default=now)
