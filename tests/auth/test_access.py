from dataclasses import replace
from uuid import UUID

import pytest

from auth.access import Access
from kernel.clock import now
from kernel.errors import Forbidden, InsufficientPrivileges, MissingScope, Unauthenticated
from kernel.scope import ANONYMOUS, SYSTEM, Actor, ActorKind, Scope, Store

STORE = Store(1, UUID(int=1), "Loja")
ORDERS = Access(
    privileges=("view_orders", "manage_orders"),
    app_scope="read_orders",
    storefront="storefront:read",
    vendor=True,
)


def asked_by(actor: Actor) -> Scope:
    return Scope(STORE, actor, "r", now())


def actor(kind: ActorKind, *, privileges=(), scopes=()) -> Actor:
    return Actor(kind, privileges=frozenset(privileges), scopes=frozenset(scopes))


@pytest.mark.parametrize(
    "caller",
    [
        SYSTEM,
        actor(ActorKind.ADMIN, privileges=["view_orders"]),
        actor(ActorKind.ADMIN, privileges=["manage_orders", "view_orders"]),
        actor(ActorKind.APP, scopes=["read_orders"]),
        actor(ActorKind.STOREFRONT, scopes=["storefront:read"]),
        actor(ActorKind.VENDOR),
    ],
    ids=lambda caller: caller.kind,
)
def test_callers_named_by_the_rule_are_allowed(caller):
    ORDERS.check(asked_by(caller))
    ORDERS.check(asked_by(caller))


@pytest.mark.parametrize(
    "caller, error, message, details",
    [
        (ANONYMOUS, Unauthenticated, "missing authorization header", {}),
        (
            actor(ActorKind.ADMIN, privileges=["manage_products"]),
            InsufficientPrivileges,
            "insufficient privileges",
            {"privilege_required_any": ["view_orders", "manage_orders"]},
        ),
        (
            actor(ActorKind.APP, scopes=["write_products"]),
            MissingScope,
            "the scope read_orders is required",
            {"scope": "read_orders"},
        ),
        (
            actor(ActorKind.STOREFRONT),
            MissingScope,
            "the scope storefront:read is required",
            {"scope": "storefront:read"},
        ),
        (actor(ActorKind.CUSTOMER), Forbidden, "insufficient permissions", {}),
        # Privileges are an administrator's: left in a customer's hands they open nothing.
        (actor(ActorKind.CUSTOMER, privileges=["view_orders"]), Forbidden, "insufficient permissions", {}),
    ],
    ids=["anonymous", "admin", "app", "storefront", "customer", "customer with privileges"],
)
def test_other_callers_are_rejected(caller, error, message, details):
    with pytest.raises(error) as refused:
        ORDERS.check(asked_by(caller))
    assert type(refused.value) is error
    assert (refused.value.message, refused.value.details) == (message, details)


def test_a_single_missing_privilege_is_reported_as_required():
    with pytest.raises(InsufficientPrivileges) as refused:
        Access(privileges=("manage_apps",)).check(asked_by(actor(ActorKind.ADMIN)))
    assert refused.value.details == {"required": "manage_apps"}


@pytest.mark.parametrize("kind", [ActorKind.APP, ActorKind.STOREFRONT, ActorKind.VENDOR, ActorKind.CUSTOMER])
def test_a_rule_without_names_allows_administrators_only(kind):
    Access().check(asked_by(actor(ActorKind.ADMIN)))
    with pytest.raises(Forbidden, match="insufficient permissions"):
        Access().check(asked_by(actor(kind, scopes=["read_orders"])))


def test_a_rule_can_exclude_administrators():
    rule = Access(admin=False, customer=True)
    rule.check(asked_by(actor(ActorKind.CUSTOMER)))
    with pytest.raises(Forbidden):
        rule.check(asked_by(actor(ActorKind.ADMIN)))


def test_an_anonymous_rule_allows_everybody():
    for kind in ActorKind:
        Access(anonymous=True).check(asked_by(actor(kind)))


def test_a_rule_for_users_only_rejects_scopes():
    with pytest.raises(TypeError):
        Access(user_only=True, app_scope="read_users")


def test_a_rule_is_described_in_one_line():
    assert ORDERS.describe() == (
        "administrators with `view_orders` or `manage_orders`; vendors; apps with `read_orders`; "
        "storefront keys with `storefront:read`"
    )
    assert Access(user_only=True, note="Their own.").describe() == "administrators (user tokens only). Their own."
    assert Access(admin=False).describe() == "the system only"


def test_a_disabled_module_is_checked_last_and_rejects_all_but_the_system():
    rule = Access(privileges=("view_payments",), module="payment_gateway")
    off = replace(STORE, settings={"payment_gateway": False})
    treasurer = actor(ActorKind.ADMIN, privileges=["view_payments"])
    rule.check(asked_by(treasurer))
    with pytest.raises(Forbidden) as error:
        rule.check(replace(asked_by(treasurer), store=off))
    assert (error.value.message, error.value.details) == (
        "module_disabled",
        {"module": "payment_gateway"},
    )
    with pytest.raises(InsufficientPrivileges):
        rule.check(replace(asked_by(actor(ActorKind.ADMIN)), store=off))
    rule.check(replace(asked_by(SYSTEM), store=off))
    assert "while the module `payment_gateway` is on" in rule.describe()
