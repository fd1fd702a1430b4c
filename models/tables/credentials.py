"""Sessions, tokens, API keys, second factors and audit entries. Tokens are stored as their SHA-256 only."""

from __future__ import annotations

from tortoise import fields
from tortoise.contrib.postgres.fields import ArrayField

from kernel.clock import now
from models.tables.base import StoreModel


class Session(StoreModel, table="sessions"):
    """A session of a device. Its tokens are revoked with it; `end_reason` is shown in `token revoked: <reason>`."""

    user = fields.ForeignKeyField("models.User", related_name="sessions")
    created_at = fields.DatetimeField(default=now)
    last_used_at = fields.DatetimeField(default=now)
    expires_at = fields.DatetimeField()
    ended_at = fields.DatetimeField(null=True)
    end_reason = fields.TextField(default="")
    ip_address = fields.TextField(default="")
    user_agent = fields.TextField(default="")


class RefreshToken(StoreModel, table="refresh_tokens"):
    """A refresh token of a session; the one without `used_at` is valid."""

    session = fields.ForeignKeyField("models.Session", related_name="refresh_tokens")
    token_hash = fields.BinaryField()
    created_at = fields.DatetimeField(default=now)
    expires_at = fields.DatetimeField()
    used_at = fields.DatetimeField(null=True)


class ApiKey(StoreModel, table="api_keys"):
    """A key that an administrator or vendor uses as the password of Basic authentication."""

    user = fields.ForeignKeyField("models.User", related_name="api_keys")
    key_hash = fields.BinaryField()
    hint = fields.TextField(default="")
    name = fields.TextField(default="")
    created_at = fields.DatetimeField(default=now)
    last_used_at = fields.DatetimeField(null=True)
    revoked_at = fields.DatetimeField(null=True)


class LegacyToken(StoreModel, table="legacy_tokens"):
    """A Bearer token of the legacy layer (`POST /api/auth_tokens`)."""

    user = fields.ForeignKeyField("models.User", related_name="legacy_tokens")
    token_hash = fields.BinaryField()
    created_at = fields.DatetimeField(default=now)
    expires_at = fields.DatetimeField()
    ended_at = fields.DatetimeField(null=True)


class WrongAttempt(StoreModel, table="wrong_attempts"):
    """A wrong password or code. `subject` is `user:<id>` or a keyed hash of an unknown identifier."""

    subject = fields.TextField()
    at = fields.DatetimeField(default=now)


class Lockout(StoreModel, table="lockouts"):
    """A subject that is locked out until `until`."""

    subject = fields.TextField()
    until = fields.DatetimeField()


class TwoFactor(StoreModel, table="two_factors"):
    """A user's authenticator app, enabled at `confirmed_at`. `secret` is encrypted."""

    user = fields.ForeignKeyField("models.User", related_name="two_factors")
    secret = fields.BinaryField()
    used_steps = ArrayField(element_type="bigint", default=list)
    created_at = fields.DatetimeField(default=now)
    confirmed_at = fields.DatetimeField(null=True)


class RecoveryCode(StoreModel, table="recovery_codes"):
    """A single-use recovery code, stored as a keyed hash."""

    user = fields.ForeignKeyField("models.User", related_name="recovery_codes")
    code_hash = fields.BinaryField()
    used_at = fields.DatetimeField(null=True)


class SignInChallenge(StoreModel, table="sign_in_challenges"):
    """A sign-in with a correct password that requires a second factor."""

    user = fields.ForeignKeyField("models.User", related_name="sign_in_challenges")
    token_hash = fields.BinaryField()
    tries = fields.IntField(default=0)
    created_at = fields.DatetimeField(default=now)
    expires_at = fields.DatetimeField()


class AuditEntry(StoreModel, table="audit_entries"):
    """An audit entry: who did what to which record, and when."""

    at = fields.DatetimeField(default=now)
    actor_kind = fields.TextField(default="system")
    user_id = fields.BigIntField(null=True)
    app_id = fields.BigIntField(null=True)
    action = fields.TextField()
    subject_type = fields.TextField(default="")
    subject_id = fields.TextField(default="")
    details = fields.JSONField[dict[str, object]](default=dict)
    ip_address = fields.TextField(default="")
    request_id = fields.TextField(default="")
