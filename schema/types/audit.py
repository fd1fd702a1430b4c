"""Define the audit log."""

from __future__ import annotations

from domain.audit_read import AUDIT_ENTRIES
from schema.fields import column, entity
from schema.scalars import Ident, Json, Time


@entity(AUDIT_ENTRIES, "AuditEntry", "Who did what to which record.")
class AuditEntryObject:
    """A row of `audit_entries`; entries are written once and never changed."""

    id: Ident = column("public_id", "The UUID.")
    at: Time = column(description="When.")
    action: str = column(description="What was done, in the past tense: `user.deleted`, `app.installed`.")
    actor_kind: str = column(
        description="Who: `admin`, `vendor`, `customer`, `app`, `storefront` or `system`."
    )
    user_id: Ident | None = column(
        "(SELECT u.public_id FROM users u WHERE u.tenant_id = t.tenant_id AND u.id = t.user_id)",
        "The person.",
    )
    subject_type: str = column(description="The kind of record it was done to.")
    subject_id: str = column(description="The record, by its UUID or number.")
    details: Json = column(description="What changed; never a secret.")
    ip_address: str = column(description="The address it was done from.")
    request_id: str = column(description="The request it was done in.")
