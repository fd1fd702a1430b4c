"""Access rules of root fields, types and personal fields (docs/reference/graphql.md#access), and of stores that are read-only."""

from __future__ import annotations

from dataclasses import dataclass

from kernel.errors import DomainError, Forbidden, InsufficientPrivileges, MissingScope, TenantClosed, Unauthenticated
from kernel.scope import ActorKind, Scope, Store


@dataclass(frozen=True)
class Access:
    """The callers that a rule allows; any other is rejected.

    Administrators need any one of `privileges` (without any, and with `admin`: every administrator). An app needs `app_scope` (any one
    of several), a storefront key `storefront`; without it they are rejected. `any_app` allows every installed app its own records,
    whatever its scopes. `vendor` and `customer` allow these users; queries restrict their rows. `anonymous` allows everybody.
    `user_only` requires a user token (account and app administration) and can't be combined with a scope. `module` is a store setting
    that disables the whole, checked last. The system is always allowed.
    """

    privileges: tuple[str, ...] = ()
    app_scope: str | tuple[str, ...] | None = None
    any_app: bool = False
    storefront: str | None = None
    vendor: bool = False
    customer: bool = False
    anonymous: bool = False
    admin: bool = True
    user_only: bool = False
    module: str = ""
    note: str = ""

    def __post_init__(self) -> None:
        if self.user_only and (self.app_scope or self.any_app or self.storefront or self.anonymous):
            raise TypeError(
                "an access rule for users only names neither app nor storefront scope, nor anonymous callers"
            )
        if self.privileges and not self.admin:
            raise TypeError("an access rule that names privileges lets administrators pass")

    def check(self, scope: Scope) -> None:
        """Raise an error for a caller that the rule doesn't allow.

        `Unauthenticated` without a credential, `InsufficientPrivileges` for an administrator without the privilege, `MissingScope` for an
        app or storefront key without the scope, `Forbidden` for a kind of caller that is never allowed.
        """
        error = self._error(scope)
        if error is not None:
            raise error

    def allows(self, scope: Scope) -> bool:
        """Return whether `check` accepts the caller."""
        return self._error(scope) is None

    def describe(self) -> str:
        """Return the rule as one line of documentation."""
        if self.anonymous:
            callers = ["everybody"]
        else:
            callers = []
            if self.privileges:
                callers.append("administrators with " + " or ".join(f"`{name}`" for name in self.privileges))
            elif self.admin:
                callers.append("administrators")
            if self.vendor:
                callers.append("vendors")
            if self.customer:
                callers.append("customers")
            if self.any_app:
                callers.append("apps, for what is their own")
            elif self.app_scope:
                callers.append("apps with " + " or ".join(f"`{name}`" for name in _as_tuple(self.app_scope)))
            if self.storefront:
                callers.append(f"storefront keys with `{self.storefront}`")
        text = "; ".join(callers) or "the system only"
        if self.module:
            text += f", while the module `{self.module}` is on"
        if self.user_only:
            text += " (user tokens only)"
        return f"{text}. {self.note}" if self.note else text

    def _error(self, scope: Scope) -> DomainError | None:
        error = self._caller_error(scope)
        if error is not None or not self.module or scope.actor.kind is ActorKind.SYSTEM:
            return error
        # Modules are enabled by default, and settings store only values that differ from the default (domain/store_settings.py).
        if scope.store.settings.get(self.module) is False:
            return Forbidden("module_disabled", details={"module": self.module})
        return None

    def _caller_error(self, scope: Scope) -> DomainError | None:
        actor = scope.actor
        kind = actor.kind
        if self.anonymous or kind is ActorKind.SYSTEM:
            return None
        if kind is ActorKind.ADMIN:
            if not self.admin:
                return Forbidden("insufficient permissions")
            if not self.privileges or any(name in actor.privileges for name in self.privileges):
                return None
            return InsufficientPrivileges(*self.privileges)
        if kind is ActorKind.APP and self.any_app:
            return None
        if kind is ActorKind.APP or kind is ActorKind.STOREFRONT:
            accepted = _as_tuple(self.app_scope if kind is ActorKind.APP else self.storefront)
            if not accepted:
                return Forbidden("insufficient permissions")
            return None if any(name in actor.scopes for name in accepted) else MissingScope(accepted[0])
        if kind is ActorKind.ANONYMOUS:
            return Unauthenticated("missing authorization header")
        is_allowed = self.vendor if kind is ActorKind.VENDOR else self.customer
        return None if is_allowed else Forbidden("insufficient permissions")


MAINTENANCE = "Loja em manutenção. Volte em alguns minutos."


def check_store_writable(store: Store) -> None:
    """Raise `TenantClosed` for a mutation of a store that is read-only, as in maintenance; sign-ins are not checked."""
    if store.is_read_only:
        message = store.maintenance_message or MAINTENANCE
        raise TenantClosed("tenant_maintenance", message, is_moving=store.is_moving)


def open_to_shoppers(privilege: str, app_scope: str | tuple[str, ...]) -> Access:
    """Return the rule of what customers and storefronts read too, besides vendors, apps, and administrators with the privilege."""
    return Access((privilege,), app_scope, vendor=True, customer=True, storefront="storefront:read")


def _as_tuple(scopes: str | tuple[str, ...] | None) -> tuple[str, ...]:
    return () if scopes is None else (scopes,) if isinstance(scopes, str) else scopes
