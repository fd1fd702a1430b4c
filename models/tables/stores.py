"""Stores and the platform's own tables, which are independent of a store in scope."""

from __future__ import annotations

from tortoise import fields
from tortoise.contrib.postgres.fields import ArrayField
from tortoise.models import Model

from kernel.clock import now
from kernel.ids import uuid7
from models.tables.base import StoreModel


class Tenant(Model):
    """A store. `status` is `A` active, `S` suspended, `M` in maintenance; while `is_read_only`, mutations other than sign-ins are refused.

    `limits` are those of `domain.store_limits` that the platform's operator set.
    `move` is the state of a move to another database (`server.operations.store_move`).
    `status_letters` is a copy of the statuses that the store added (`models.tables.orders.Status`), by type and code.
    """

    id = fields.BigIntField(primary_key=True)
    public_id = fields.UUIDField(default=uuid7)
    name = fields.TextField()
    status = fields.TextField(default="A")
    currency = fields.TextField(default="BRL")
    maintenance_message = fields.TextField(null=True)
    owner_id = fields.BigIntField(null=True)
    settings = fields.JSONField[dict[str, object]](default=dict)
    status_letters = fields.JSONField[dict[str, dict[str, str]]](default=dict)
    gateway_secret = fields.BinaryField(null=True)
    is_read_only = fields.BooleanField(default=False)
    limits = fields.JSONField[dict[str, int]](default=dict)
    move = fields.JSONField[dict[str, str]](null=True)
    created_at = fields.DatetimeField(default=now)

    class Meta:
        table = "tenants"


class StoreHost(Model):
    """A host name of a store, in lower case without the port.

    Links use the primary one; browsers that ask for a page of the example storefront are redirected to it from one that `is_redirected`.
    """

    host = fields.CharField(primary_key=True, max_length=253)
    store_id = fields.BigIntField()
    verified_at = fields.DatetimeField(default=now)
    is_primary = fields.BooleanField(default=False)
    is_redirected = fields.BooleanField(default=False)

    class Meta:
        table = "store_hosts"


class StoreHostClaim(StoreModel, table="store_host_claims"):
    """A host that the store asked for and has not proved to control; `error` is why the last look found no proof."""

    host = fields.CharField(max_length=253)
    token = fields.TextField()
    error = fields.TextField(default="")
    created_at = fields.DatetimeField(default=now)


class PlatformUser(Model):
    """A user of the platform operator, without access to stores."""

    id = fields.BigIntField(primary_key=True)
    public_id = fields.UUIDField(default=uuid7)
    email = fields.TextField()
    name = fields.TextField(default="")
    password_hash = fields.TextField()
    created_at = fields.DatetimeField(default=now)

    class Meta:
        table = "platform_users"


class SigningKey(Model):
    """A key pair that signs access tokens; the private key is encrypted with the deployment's secret."""

    kid = fields.CharField(primary_key=True, max_length=64)
    algorithm = fields.TextField(default="EdDSA")
    private_key = fields.BinaryField()
    public_key = fields.BinaryField()
    created_at = fields.DatetimeField(default=now)
    retired_at = fields.DatetimeField(null=True)

    class Meta:
        table = "signing_keys"


class HashKey(Model):
    """The key of keyed hashes made under an earlier secret key; encrypted. `key_id` names that secret key."""

    id = fields.BigIntField(primary_key=True)
    purpose = fields.TextField()
    key_id = fields.BinaryField()
    sealed_key = fields.BinaryField()
    created_at = fields.DatetimeField(default=now)

    class Meta:
        table = "hash_keys"


class SigninCount(Model):
    """A rate limit per IP address and purpose, shared by all processes.

    `bucket` is `login:203.0.113.9`; `recent` are the times of the accepted attempts (sliding window of one minute).
    """

    bucket = fields.CharField(max_length=200, primary_key=True)
    recent = ArrayField(element_type="timestamptz", default=list)

    class Meta:
        table = "signin_counts"


class JobRun(Model):
    """The schedule and last result of a periodic job."""

    name = fields.CharField(primary_key=True, max_length=100)
    due_at = fields.DatetimeField()
    started_at = fields.DatetimeField(null=True)
    finished_at = fields.DatetimeField(null=True)
    error = fields.TextField(default="")

    class Meta:
        table = "job_runs"
