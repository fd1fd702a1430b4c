"""Define what a caller may do."""

from __future__ import annotations

from auth.access import Access
from schema.fields import object_type, output_field

ANYBODY = Access(anonymous=True, note="It says what the caller itself may do.")


@object_type("Permissions", access=ANYBODY)
class PermissionsObject:
    """What the caller may do, besides the rules about single records."""

    privileges: list[str] = output_field(
        "The privileges of an administrator, those of usergroups included; empty for other callers."
    )
    queries: list[str] = output_field("The root fields that the caller may read.")
    mutations: list[str] = output_field("The mutations that the caller may send.")
    refused_fields: list[str] = output_field(
        "The fields of records that are refused to the caller, such as `Order.ip_address`."
    )
