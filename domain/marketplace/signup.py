"""Let sellers apply for a place in the marketplace: a vendor and its first user, both waiting for the shop's approval."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from domain.fields import Given, InputField, name_text, read_fields
from domain.marketplace.vendors import cnpj_text, create_vendor
from domain.people import accounts
from domain.people.account_fields import FIELDS
from kernel.scope import Scope
from models.database import transaction

PENDING = "P"
_VENDOR_USER = "V"

_COMPANY: Mapping[str, InputField] = {
    "company": InputField("name", name_text, code="name_invalid", required="required"),
    "cnpj": InputField("cnpj", cnpj_text, code="cnpj_invalid"),
}
_USER: Mapping[str, InputField] = {
    **{name: FIELDS[name] for name in ("email", "firstname", "lastname", "phone")},
    "password": InputField("password", FIELDS["password"].read, "password_invalid", required="required"),
}


@dataclass(frozen=True, slots=True)
class SignedUp:
    """Name what was made, by the internal ids."""

    vendor_id: int
    user_id: int
    status: str = PENDING


async def sign_up(scope: Scope, given: Given) -> SignedUp:
    """Make a vendor and its first user, neither of whom can do anything until an administrator approves them.

    `given` holds `company`, `email`, `password`, and perhaps `phone`, `cnpj`, `firstname`, `lastname`. The e-mail counts as confirmed
    once somebody has approved the account by hand. Raises ValidationFailed (`email_taken` for an e-mail that another user has).
    """
    company = read_fields(_COMPANY, given, creating=True)
    user = read_fields(_USER, given, creating=True)
    system = scope.as_system()
    draft = await accounts.drafted(system, {**user, "user_type": _VENDOR_USER, "status": PENDING})
    async with transaction(system):
        contact = {"email": user["email"], "phone": user.get("phone") or ""}
        vendor_id = await create_vendor(system, {**company, **contact, "status": PENDING})
        made = await accounts.add_user(system, {**draft, "vendor_id": vendor_id}, verified=True)
    return SignedUp(vendor_id, made.id)
