"""Convert usergroups, vendors and users."""

from __future__ import annotations

from typing import Any

from auth.privileges import ALL as PRIVILEGES
from domain.imports.numbered import ImportKind, ImportTable, Rows
from domain.marketplace.vendors import VENDOR_FIELDS
from domain.people.account_fields import STORED_FIELDS
from domain.people.profile_addresses import read_address_columns
from domain.people.usergroups import FIELDS as USERGROUP_FIELDS
from domain.points.ledger import add_movements
from kernel.codes import MEMBERSHIP_STATUSES
from kernel.errors import ValidationFailed
from kernel.product_fields import SEO_FIELDS
from models.tables.marketplace import Vendor
from models.tables.users import User, UserAddress, Usergroup, UsergroupMembership
from server.importers.cscart.addresses import former_addresses, redirect_rows
from server.importers.cscart.context import IMAGE_COLUMNS, Context
from server.importers.cscart.values import (
    NotBrought,
    Record,
    as_number,
    cents,
    entries,
    flag,
    integer,
    items,
    moment,
    objects,
    own_number,
    text,
)

_ADMINISTRATOR, _VENDOR = "A", "V"

USERGROUP = ImportKind("usergroup", ImportTable(Usergroup))


def convert_usergroup(context: Context, record: Record) -> Rows:
    """Convert a usergroup; of its privileges those that exist here."""
    names = [str(name) for name in _privilege_names(record.get("privileges"))]
    unknown = sorted(set(names) - PRIVILEGES)
    if unknown:
        context.note(f"privileges {', '.join(unknown[:5])} don't exist here; left out")
    values = {
        "name": text(record, "usergroup"),
        "type": text(record, "type", "C"),
        "status": text(record, "status", "A"),
    }
    columns = context.columns(USERGROUP_FIELDS, values)
    privileges = sorted(set(names) & PRIVILEGES) if columns["type"] == _ADMINISTRATOR else []
    return {
        "usergroups": [
            {"id": own_number(record, "usergroup_id"), "privileges": privileges, **columns, **context.times(None)}
        ]
    }


def _privilege_names(value: object) -> list[Any]:
    """Return privilege names: an array, or CS-Cart's map of names to `Y`."""
    names = items(value)
    if names and all(name in ("Y", "N", True, False, "1", "0") for name in names):
        return [name for name, is_granted in entries(value).items() if is_granted in ("Y", True, "1")]
    return names


# --- Vendors ---------------------------------------------------------------------------------------------------------------------

VENDOR = ImportKind(
    "vendor",
    ImportTable(Vendor, without=("first_commission", "first_commission_type", *IMAGE_COLUMNS)),
    former_addresses("vendors"),
)
# Newer versions of Multi-Vendor suspend vendors.
_SUSPENDED = {"S": "D"}
_VENDOR_TEXTS = ("email", "phone", "address", "city", "state", "zipcode", "url", *SEO_FIELDS)


def convert_vendor(context: Context, record: Record) -> Rows:
    """Convert a vendor, or a storefront of CS-Cart."""
    values: dict[str, Any] = {
        "name": text(record, "company"),
        "slug": text(record, "seo_name"),
        "status": _SUSPENDED.get(text(record, "status"), text(record, "status", "A")),
        "cnpj": text(record, "CNPJ") or None,
        "commission_type": text(record, "commission_type") or "P",
        "country": text(record, "country") or "BR",
        "shippings": _vendor_shippings(record.get("shippings")),
        "description": text(record, "company_description"),
        **{name: text(record, name) for name in _VENDOR_TEXTS},
    }
    if record.get("commission") not in (None, ""):
        amount = cents(record, "commission")
        values["commission"] = f"{amount // 100}.{amount % 100:02d}" if amount >= 0 else "0.00"
    columns = context.columns(
        VENDOR_FIELDS, values, droppable=("slug", "email", "url", "cnpj", "phone", "zipcode", "commission", *SEO_FIELDS)
    )
    times = context.times(moment(record, "timestamp"))
    vendor = own_number(record, "company_id")
    return {
        "vendors": [{"id": vendor, **columns, **times}],
        "redirects": redirect_rows(context, "vendors", vendor, record),
    }


def _vendor_shippings(value: object) -> dict[str, Any]:
    """Return the methods of a vendor as a map; CS-Cart also writes a text with commas."""
    if isinstance(value, str):
        return {str(position): part.strip() for position, part in enumerate(filter(None, value.split(",")))}
    return entries(value)


# --- Users -----------------------------------------------------------------------------------------------------------------------

_ADDRESS = ("firstname", "lastname", "city", "state", "zipcode", "country", "phone")
_MEMBERSHIPS = ImportTable(UsergroupMembership, owner="user_id")
USER = ImportKind(
    "user",
    ImportTable(
        User,
        without=("password_hash", "password_changed_at", "last_login_at", *IMAGE_COLUMNS),
        # What the account got here stays.
        only_new=frozenset({"privileges", "email_verified_at", "created_at"}),
        complete=add_movements,
    ),
    _MEMBERSHIPS,
    ImportTable(
        UserAddress,
        owner="user_id",
        keeps=True,
        before_update="DELETE FROM user_addresses WHERE tenant_id = $1 AND user_id = ANY($2::bigint[])"
        " AND (is_default_billing OR is_default_shipping)",
    ),
)


def convert_user(context: Context, record: Record) -> Rows:
    """Convert a user, without password: a mail of the password reset lets them set one."""
    user_id = own_number(record, "user_id")
    values = {
        "email": text(record, "email"),
        "user_type": text(record, "user_type", "C"),
        "status": text(record, "status", "A"),
        "firstname": text(record, "firstname"),
        "lastname": text(record, "lastname"),
        "company_name": text(record, "company"),
        "phone": text(record, "phone"),
        "cpf": text(record, "CPF"),
        "cnpj": text(record, "CNPJ"),
    }
    columns = context.columns(STORED_FIELDS, values, droppable=("phone", "cpf", "cnpj"))
    vendor = context.optional(record, "company_id", "vendors")
    if columns["user_type"] == _VENDOR and vendor is None:
        raise NotBrought("company_id is required for a user of type V")
    created = moment(record, "timestamp")
    row = {
        "id": user_id,
        **columns,
        "vendor_id": vendor,
        "privileges": [],
        "points": max(0, min(integer(record, "points"), 2**31 - 1)),
        "email_verified_at": created or context.scope.now,
        **context.times(created),
    }
    return {
        "users": [row],
        "usergroup_memberships": _membership_rows(context, user_id, record),
        "user_addresses": _addresses(context, user_id, record),
    }


def _addresses(context: Context, user_id: int, record: Record) -> list[dict[str, Any]]:
    """Return the addresses of the profile as the defaults for billing and shipping: one row where both are equal."""
    rows: list[dict[str, Any]] = []
    for prefix, column in (("b", "is_default_billing"), ("s", "is_default_shipping")):
        values = {name: text(record, f"{prefix}_{name}") for name in _ADDRESS}
        values |= {"street": text(record, f"{prefix}_address"), "complement": text(record, f"{prefix}_address_2")}
        if not any(values[name] for name in ("street", "city", "zipcode")):
            continue
        try:
            columns = read_address_columns({name: value for name, value in values.items() if value})
        except ValidationFailed as error:
            context.note(f"{prefix}_address: {error.message}; left out")
            continue
        if rows and all(rows[0][name] == value for name, value in columns.items()):
            rows[0][column] = True
        else:
            rows.append({**columns, column: True, "user_id": user_id, **context.times(None)})
    return rows


def is_root(record: Record) -> bool:
    """Return whether a user is the shop's root administrator; each vendor has one of its own."""
    is_administrator = text(record, "user_type") == _ADMINISTRATOR and not integer(record, "company_id")
    return is_administrator and flag(record, "is_root")


def memberships(record: Record) -> dict[int, str]:
    """Return the status of a user's membership of each usergroup."""
    statuses = {}
    for membership in objects(record.get("usergroups")):
        usergroup = as_number(membership.get("usergroup_id"))
        status = text(membership, "status", "A")
        if usergroup is not None and status in MEMBERSHIP_STATUSES.codes:
            statuses[usergroup] = status
    return statuses


def _membership_rows(context: Context, user_id: int, record: Record) -> list[dict[str, Any]]:
    statuses = memberships(record)
    return [
        {
            "usergroup_id": usergroup,
            "user_id": user_id,
            "status": statuses[usergroup],
            "created_at": context.scope.now,
        }
        for usergroup in context.present(list(statuses), "usergroup", "usergroups")
    ]
