"""Define the store, its settings and its audit log."""

from __future__ import annotations

from enum import Enum

import strawberry

from auth.access import Access
from domain.audit_read import AUDIT_ENTRIES
from domain.store_logo import LOGOS
from models.reading.queries import ToMany, ToOne
from schema.enums import ActorKind, SettingType, StoreStatus
from schema.fields import INHERITED, column, entity_type, object_type, output_field, referenced, relation
from schema.inputs import input_type, optional_field
from schema.scalars import ID, JSON, BigInt, DateTime
from schema.types.media import ImageInput, ImageObject, with_files
from schema.types.people import UserObject
from schema.unset import Unset

_LOGO = ToMany("t.id", "t.id", through=with_files(LOGOS), where="t.image_url <> ''")


@object_type("StoreContact", access=INHERITED)
class StoreContactObject:
    """How customers reach the store; null what its settings don't have."""

    email: str = output_field("The e-mail address (setting `support_email`).", unset=Unset.NULL)
    phone: str = output_field("The phone number (setting `support_phone`).", unset=Unset.NULL)
    address: str = output_field("The postal address, on one line (setting `contact_address`).", unset=Unset.NULL)


@object_type("SocialLink", access=INHERITED)
class SocialLinkObject:
    """The store's page at a social network."""

    network: str = output_field("The network, such as `instagram`: the setting's name after `social_`.")
    name: str = output_field("The network's name to show.")
    url: str = output_field("The URL of the page.")


@object_type("Store", access=Access(anonymous=True, note="The data is public."))
class StoreObject:
    """The current store."""

    id: ID = output_field("The store ID (UUID), as sent in `X-Tenant-ID`.")
    name: str = output_field("The name.")
    currency: str = output_field("The store currency, ISO 4217.")
    status: StoreStatus = output_field("The status.")
    maintenance_message: str | None = output_field("The message shown to customers while the store is in maintenance.")
    contact: StoreContactObject = output_field("How customers reach the store.")
    social_links: list[SocialLinkObject] = output_field("The store's pages at social networks that its settings name.")
    logo: ImageObject | None = relation(_LOGO, "The logo.", single=True)
    browser_idle_minutes: int = output_field(
        "After how many minutes without use a browser's session ends, as the store's setting of this name says."
    )
    time_zone: str = output_field("The IANA name of its time zone, such as `America/Sao_Paulo` (setting `time_zone`).")
    settings: JSON | None = output_field("The store settings with secrets masked; null without `view_settings`.")


@object_type("StoreHostProof", access=INHERITED)
class StoreHostProofObject:
    """What proves that the store controls a host: a TXT record, or a file at the host. One of them is enough."""

    record_name: str = output_field("The name of the TXT record.")
    url: str = output_field("The address of the file.")
    value: str = output_field("The text of the record, and the content of the file.")


@object_type("StoreHost", access=Access(privileges=("view_settings",)))
class StoreHostObject:
    """A host of the store, or one that it asked for and has not proved to control. Readable by administrators with `view_settings`."""

    host: str = output_field("The name, in lower case.")
    verified_at: DateTime | None = output_field(
        "Since when requests with this name are the store's; null until it is proved."
    )
    is_primary: bool = output_field("Whether links in mails and of images use the name.")
    is_redirected: bool = output_field(
        "Whether browsers are redirected to the primary host from the pages of this one."
    )
    proof: StoreHostProofObject | None = output_field("What proves the control of the name; null once it is verified.")
    error: str = output_field("Why the last look found no proof; empty if there was none.", unset=Unset.NULL)


@object_type("StoreLimit", access=Access(privileges=("view_settings",)))
class StoreLimitObject:
    """A limit that the platform set for the store. Readable by administrators with `view_settings`."""

    name: str = output_field("The name, such as `products`.")
    counted: str = output_field("What it counts.")
    limit: BigInt = output_field("The most that the store may have.")
    used: BigInt | None = output_field("What is used of it now; null for the limits of requests.")


@input_type
class StoreHostInput:
    """Changes to a host."""

    is_primary: bool | None = optional_field("Whether it is the primary host; the one before it is so no longer.")
    is_redirected: bool | None = optional_field("Whether browsers are redirected from it to the primary host.")


@input_type
class StoreInput:
    """Changes to the store."""

    name: str | None = optional_field("The name.")
    currency: str | None = optional_field(
        "The currency, ISO 4217, one with cents; it can't change any more once there are orders."
    )
    maintenance_message: str | None = optional_field(
        "The message shown to customers while the store is in maintenance."
    )
    logo: ImageInput | None = optional_field("The logo; null removes it.")


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
    ip_address: str = column(description="The client IP address.", unset=Unset.LATER)
    request_id: str = column(description="The request ID.")


READ_SETTINGS = Access(privileges=("view_settings",))


@object_type("SettingVariant", access=INHERITED)
class SettingVariantObject:
    """An allowed value of a setting."""

    value: str = output_field("The value.")
    name: str = output_field("The display name.")


@object_type("Setting", access=READ_SETTINGS)
class SettingObject:
    """A setting of the store. Readable by administrators with `view_settings`."""

    id: ID = output_field("The unique ID (UUID).")
    number: BigInt = output_field("The legacy numeric ID (`object_id`).", internal=True)
    name: str = output_field("The name.")
    section: str = output_field("The settings section.")
    type: SettingType = output_field("The type of its value.")
    value: str = output_field(
        "The value as a string: `Y` or `N` for booleans, digits for integers; secrets are masked as `****`."
    )
    description: str = output_field("The description.")
    variants: list[SettingVariantObject] = output_field("The allowed values, if restricted.")


@object_type("SettingPage", access=INHERITED)
class SettingPageObject:
    """A page of settings with offset pagination."""

    items: list[SettingObject] = output_field("The settings of this page.")
    total: int = output_field("The total number of matching settings.")
    page: int = output_field("The page number, starting at 1.")
    per_page: int = output_field("The page size.")


@input_type
class SettingInput:
    """A new value for a setting."""

    value: str | None = optional_field("The value as a string; null leaves it unchanged.")


@input_type
class SettingFilter:
    """Filters a list of settings; all conditions must match."""

    id: list[ID] | None = optional_field("Matches any of these IDs.")
    name: list[str] | None = optional_field("Matches any of these names.")
    section: list[str] | None = optional_field("Matches any of these sections.")
    type: list[SettingType] | None = optional_field("Matches any of these types.", text_internally=True)
    value: list[str] | None = optional_field("Matches any of these values.")
    description: list[str] | None = optional_field("Matches any of these descriptions exactly.")
    search: str | None = optional_field("Matches part of the name or description.")


@strawberry.enum(description="Sort orders of a list of settings.")
class SettingSort(Enum):
    """The sort orders of settings; ties are broken by numeric ID."""

    SECTION_ASC = strawberry.enum_value("section", description="By section, ascending.")
    SECTION_DESC = strawberry.enum_value("-section", description="By section, descending.")
    NAME_ASC = strawberry.enum_value("name", description="By name, ascending.")
    NAME_DESC = strawberry.enum_value("-name", description="By name, descending.")
    ID_ASC = strawberry.enum_value("number", description="By numeric ID, ascending.")
    ID_DESC = strawberry.enum_value("-number", description="By numeric ID, descending.")
