"""Define the audit log."""

from __future__ import annotations

from domain.audit_read import AUDIT_ENTRIES
from models.queries import ToOne
from schema.enums import ActorKind
from schema.fields import column, entity_type, referenced, relation
from schema.scalars import ID, JSON, DateTime
from schema.types.people import UserObject


@entity_type(AUDIT_ENTRIES, "AuditEntry")
class AuditEntryObject:
    """An entry of the audit log."""

    id: ID = column("public_id", "The unique ID (UUID).")
    at: DateTime = column(description="When the action was performed.")
    action: str = column(description="The action in the past tense, such as `user.deleted` or `app.installed`.")
    actor_kind: ActorKind = column(description="The kind of actor.")
    user_id: ID | None = column(referenced("users", "user_id"), "The user who performed the action.")
    user: UserObject | None = relation(ToOne("user_id"), "The user who performed the action.")
    subject_type: str = column(description="The type of the affected record.")
    subject_id: str = column(description="The affected record, by UUID or numeric ID.")
    details: JSON = column(description="The changes, without secrets.")
    ip_address: str = column(description="The client IP address.")
    request_id: str = column(description="The request ID.")
