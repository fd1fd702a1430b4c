"""Say, as data, who sees which rows of an entity.

`Rows` is a table with a line for each kind of caller. A line left out means: never, refused with 403. An empty condition means: every
row of the store. In a condition `t` is the row, `{company}` the vendor, `{user}` the user and `{installation}` the installed app
that asks.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from auth.access import Access
from kernel.scope import ActorKind, Scope
from models.reading import Where

_PLACE = re.compile(r"\{(company|user|installation)\}")


@dataclass(frozen=True)
class Rows:
    """Decide which rows a caller sees; an instance is an `Entity.visible`.

    `admin` are the privileges of which an administrator needs any. `app` and `storefront` name the scope needed (of several for
    `app`, any); `own_app` is the condition for what belongs to an app, which it sees without a scope; `storefront_rows` narrows what
    a key sees. `user_only` marks what takes user tokens alone. `module` is the store's
    setting that switches it off.
    """

    admin: tuple[str, ...] = ()
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
        """Give the rule for the kind of caller alone, for root fields and documentation."""
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

    def __call__(self, scope: Scope) -> Where | None:
        """Give the condition for the caller, None for every row; raise the refusal of `Access.check` for none."""
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
        return None


def _condition(text: str, scope: Scope) -> Where | None:
    if not text:
        return None
    actor = scope.actor
    values = {"company": actor.company_id, "user": actor.user_id, "installation": actor.installation_id}
    names = _PLACE.findall(text)
    return Where(_PLACE.sub("{}::bigint", text), tuple(values[name] for name in names))
