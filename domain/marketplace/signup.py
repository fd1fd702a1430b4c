"""Vendor sign-up: create a vendor and its first user, both pending approval."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from auth import lockout
from domain.marketplace.vendors import cnpj_text, create_vendor
from domain.people import accounts, registration
from domain.people.account_fields import ACCOUNT_FIELDS
from kernel.errors import ValidationFailed
from kernel.fields import InputField, InputValues, name_text, read_fields
from kernel.scope import Scope
from models.connection.database import transaction

PENDING = "P"
_VENDOR_USER = "V"

_COMPANY: Mapping[str, InputField] = {
    "company": InputField("name", name_text, code="name_invalid", required="required"),
    "cnpj": InputField("cnpj", cnpj_text, code="cnpj_invalid"),
}
_USER: Mapping[str, InputField] = {
    **{name: ACCOUNT_FIELDS[name] for name in ("email", "firstname", "lastname", "phone")},
    "password": InputField("password", ACCOUNT_FIELDS["password"].read, "password_invalid", required="required"),
}


@dataclass(frozen=True, slots=True)
class VendorSignup:
    """The internal ids of the created vendor and user."""

    vendor_id: int
    user_id: int
    status: str = PENDING


async def apply(scope: Scope, values: InputValues) -> None:
    """Sign up as `sign_up` does; for an existing e-mail, mail its owner instead: the caller doesn't learn that it exists."""
    try:
        await sign_up(scope, values)
    except ValidationFailed as error:
        if error.fields.get("email") != "email_taken":
            raise
        await registration.notify_owner(scope, str(values["email"]))


async def sign_up(scope: Scope, values: InputValues) -> VendorSignup:
    """Create a vendor and its first user; neither can do anything until an administrator approves them.

    `values` has `company`, `email`, `password`, and optionally `phone`, `cnpj`, `firstname`, `lastname`. Approval also counts as
    confirmation of the e-mail. Raises RateLimited, and ValidationFailed (`email_taken` for an existing e-mail, which the limit keeps from
    enumerating accounts). Invalid values don't count as an attempt.
    """
    company = read_fields(_COMPANY, values, creating=True)
    user = read_fields(_USER, values, creating=True)
    await lockout.count_attempt(scope, "vendor_signup")
    system = scope.as_system()
    draft = await accounts.prepare_user(system, {**user, "user_type": _VENDOR_USER, "status": PENDING})
    async with transaction(system):
        contact = {"email": user["email"], "phone": user.get("phone") or ""}
        vendor_id = await create_vendor(system, {**company, **contact, "status": PENDING})
        created = await accounts.add_user(system, {**draft, "vendor_id": vendor_id}, verified=True)
    return VendorSignup(vendor_id, created.id)
