"""Declare which rows of an entity each kind of caller can see.

In a condition `t` is the row, `{company}` the caller's vendor, `{user}` the user and `{installation}` the installed app. An omitted kind of
caller is refused with 403; an empty condition selects every row of the store (tenant isolation is enforced below, by row-level security).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from auth.access import Access
from kernel.scope import ActorKind, Scope
from models.reading.queries import Condition

ORDER_OF_VENDOR = """EXISTS (
    SELECT 1 FROM orders o WHERE o.tenant_id = t.tenant_id AND o.id = t.order_id AND o.vendor_id = {company})"""
ORDER_OF_CUSTOMER = ORDER_OF_VENDOR.replace("vendor_id = {company}", "user_id = {user}")
SHIPMENT_OF_VENDOR = """EXISTS (
    SELECT 1 FROM shipment_lines sl JOIN order_lines ol ON ol.tenant_id = sl.tenant_id AND ol.id = sl.order_line_id
    WHERE sl.tenant_id = t.tenant_id AND sl.shipment_id = t.id AND ol.vendor_id = {company})"""
"""A vendor sees the shipments with lines of its own."""
_PARAMETER = re.compile(r"\{(company|user|installation)\}")


@dataclass(frozen=True)
class VisibleRows:
    """The rows visible to each kind of caller; an instance is an `Entity.visible`.

    `admin` are the privileges of which an administrator needs any. `app` and `storefront` name the required scope (any of several for
    `app`); `own_app` is the condition for rows of the calling app, visible without a scope. `admin_rows` and `storefront_rows` restrict
    what administrators and storefront keys see. `user_only` accepts user tokens only. `module` is the store setting that can disable the
    entity.
    """

    admin: tuple[str, ...] = ()
    admin_rows: str = ""
    app: str | tuple[str, ...] | None = None
    own_app: str = ""
    vendor: str | None = None
    customer: str | None = None
    storefront: str | None = None
    storefront_rows: str = ""
    user_only: bool = False
    module: str = ""

    @property
    def access(self) -> Access:
        """Return the access rule for the kind of caller alone, for root fields and documentation."""
        return Access(
            privileges=self.admin,
            app_scope=self.app,
            any_app=bool(self.own_app),
            storefront=self.storefront,
            vendor=self.vendor is not None,
            customer=self.customer is not None,
            user_only=self.user_only,
            module=self.module,
        )

    def __call__(self, scope: Scope) -> Condition | None:
        """Return the condition for the caller, None for every row; raises the error of `Access.check` if the caller has no access."""
        self.access.check(scope)
        kind = scope.actor.kind
        if kind is ActorKind.VENDOR:
            return _condition(self.vendor or "", scope)
        if kind is ActorKind.CUSTOMER:
            return _condition(self.customer or "", scope)
        if kind is ActorKind.APP:
            return _condition(self.own_app, scope)
        if kind is ActorKind.STOREFRONT:
            return _condition(self.storefront_rows, scope)
        if kind is ActorKind.ADMIN:
            return _condition(self.admin_rows, scope)
        return None


@dataclass(frozen=True)
class OwnRows(VisibleRows):
    """Rows of which every user sees its `own`, a condition; administrators with any of `admin` and apps with `app` see all."""

    own: str = ""

    @property
    def access(self) -> Access:
        """Return the access rule for the kind of caller alone."""
        privileges = " or ".join(f"`{name}`" for name in self.admin)
        note = f"Users see their own; administrators need {privileges} for those of others."
        return Access(app_scope=self.app, vendor=True, customer=True, note=note)

    def __call__(self, scope: Scope) -> Condition | None:
        """Return the condition for the caller, None for every row; raises the error of `Access.check` if the caller has no access."""
        self.access.check(scope)
        actor = scope.actor
        sees_all = actor.kind in (ActorKind.SYSTEM, ActorKind.APP) or any(
            name in actor.privileges for name in self.admin
        )
        return None if sees_all else _condition(self.own, scope)


@dataclass(frozen=True)
class RowsOfRecord(VisibleRows):
    """Rows that are reached only through a record that the caller sees: all of them."""

    @property
    def access(self) -> Access:
        """Return the rule of the record."""
        return Access(anonymous=True, note="Reachable only through a field with its own access rule.")

    def __call__(self, scope: Scope) -> Condition | None:
        """Return None: every row."""
        return None


def is_shopper(scope: Scope) -> bool:
    """Return whether the caller is a customer or a storefront."""
    return scope.actor.kind in (ActorKind.CUSTOMER, ActorKind.STOREFRONT)


def published(
    admin: tuple[str, ...], app: str | tuple[str, ...], rows: str = "t.status = 'A'", *, vendor: str | None = None
) -> VisibleRows:
    """Return the visibility of an entity of which customers, storefronts and (by default) vendors see these `rows`."""
    return VisibleRows(
        admin=admin,
        app=app,
        vendor=rows if vendor is None else vendor,
        customer=rows,
        storefront="storefront:read",
        storefront_rows=rows,
    )


def _condition(text: str, scope: Scope) -> Condition | None:
    if not text:
        return None
    actor = scope.actor
    values = {"company": actor.vendor_id, "user": actor.user_id, "installation": actor.installation_id}
    names = _PARAMETER.findall(text)
    return Condition(_PARAMETER.sub("{}::bigint", text), tuple(values[name] for name in names))
