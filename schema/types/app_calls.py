"""Define the log of calls to apps."""

from __future__ import annotations

from domain.app_calls.read import APP_CALLS
from domain.webhooks.read import of_app, of_installation
from models.reading.queries import ToOne
from schema.enums import AppCallState
from schema.fields import column, entity_type, relation
from schema.scalars import ID, DateTime
from schema.types.apps import InstalledAppObject
from schema.unset import Unset


@entity_type(APP_CALLS, "AppCall")
class AppCallObject:
    """A call that the store made to an installed app. What was sent and answered is not kept."""

    id: ID = column("public_id", "The unique ID (UUID).")
    installed_app_id: ID = column(of_installation("public_id"), "The installed app.")
    installed_app: InstalledAppObject | None = relation(ToOne("installation_id"), "The installed app.")
    client_id: str = column(of_app("client_id"), "The app's OAuth client ID.")
    call: str = column("name", "The name of the call, such as `payments.create`.")
    subject_id: str = column(
        description="The payment or charge that the call was about; empty if none.", unset=Unset.NULL
    )
    state: AppCallState = column(description="How the call ended.")
    status: int | None = column(description="The HTTP status of the answer; null without one.")
    reason: str = column(
        description="Why the call failed, or the code of the app's refusal; empty if it was answered.", unset=Unset.NULL
    )
    duration_ms: int = column(description="How long the call took, in milliseconds.")
    request_id: str = column(description="The ID of the request that caused the call.")
    created_at: DateTime = column(description="When the call began.")
