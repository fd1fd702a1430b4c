"""Declare who may reach a root field, a type or a personal field (decisions.md 8), and refuse the rest by name."""

from __future__ import annotations

from dataclasses import dataclass

from kernel.errors import DomainError, Forbidden, InsufficientPrivileges, MissingScope, Unauthenticated
from kernel.scope import ActorKind, Scope


@dataclass(frozen=True)
class Access:
    """Say which callers may pass; what isn't named may not.

    Administrators need any one of `privileges` (none named and `admin`: every administrator). An app needs `app_scope` (any one of
    several), a storefront key `storefront`; without a name they are refused. `any_app` lets every installed app pass, whatever its
    scopes, to what is its own. `vendor` and `customer` let these users pass: which
    rows they see is the reader's business. `anonymous` lets everybody pass. `user_only` marks what takes user tokens alone (account and app
    administration) and refuses to stand beside a scope. `module` names a store setting that switches the whole off, asked last. The
    system always passes.
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
        """Refuse a caller the rule doesn't let pass.

        Raises `Unauthenticated` where a credential is missing, `InsufficientPrivileges` for an administrator without the privilege,
        `MissingScope` for an app or storefront key without the scope, `Forbidden` for a kind of caller that is never let through.
        """
        refusal = self._refusal(scope)
        if refusal is not None:
            raise refusal

    def allows(self, scope: Scope) -> bool:
        """Say whether `check` would let the caller pass."""
        return self._refusal(scope) is None

    def describe(self) -> str:
        """Give the rule as one line for documentation."""
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
                callers.append("apps with " + " or ".join(f"`{name}`" for name in _each(self.app_scope)))
            if self.storefront:
                callers.append(f"storefront keys with `{self.storefront}`")
        text = "; ".join(callers) or "the system only"
        if self.module:
            text += f", while the module `{self.module}` is on"
        if self.user_only:
            text += " (user tokens only)"
        return f"{text}. {self.note}" if self.note else text

    def _refusal(self, scope: Scope) -> DomainError | None:
        refusal = self._refusal_of_caller(scope)
        if refusal is not None or not self.module or scope.actor.kind is ActorKind.SYSTEM:
            return refusal
        # Modules are on until a store switches them off, and settings keep only what differs (domain/store_settings.py).
        if scope.store.settings.get(self.module) is False:
            return Forbidden("module_disabled", details={"module": self.module})
        return None

    def _refusal_of_caller(self, scope: Scope) -> DomainError | None:
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
            needed = _each(self.app_scope if kind is ActorKind.APP else self.storefront)
            if not needed:
                return Forbidden("insufficient permissions")
            return None if any(name in actor.scopes for name in needed) else MissingScope(needed[0])
        if kind is ActorKind.ANONYMOUS:
            return Unauthenticated("missing authorization header")
        passes = self.vendor if kind is ActorKind.VENDOR else self.customer
        return None if passes else Forbidden("insufficient permissions")


def _each(scopes: str | tuple[str, ...] | None) -> tuple[str, ...]:
    return () if scopes is None else (scopes,) if isinstance(scopes, str) else scopes
