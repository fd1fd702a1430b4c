"""Scopes of apps: implied scopes, limits, and the covering privileges."""

import pytest

from auth.app_scopes import (
    APP_SCOPES,
    expand_scopes,
    limit_scopes,
    parse_app_scopes,
    parse_storefront_scopes,
    privilege_for,
)
from auth.privileges import ALL
from domain.apps.redirects import add_query_parameters
from kernel.text import InvalidValue


def test_every_scope_is_covered_by_an_existing_privilege():
    assert len(APP_SCOPES) == 17
    assert {privilege_for(name) for name in APP_SCOPES} <= ALL
    assert privilege_for("read_categories") == "view_catalog"
    assert privilege_for("write_inventory") == "manage_warehouses"
    assert privilege_for("read_payments") == "view_payments"
    assert privilege_for("handle_payments") == "manage_payments"
    assert privilege_for("handle_shipping_rates") == "manage_shipping"


@pytest.mark.parametrize(
    "scopes,limit,expected",
    [
        (["write_orders"], ["write_orders"], ["write_orders"]),
        (["write_orders"], ["read_orders"], ["read_orders"]),
        (["write_orders", "read_orders"], ["read_orders"], ["read_orders"]),
        (["read_orders"], ["write_orders"], ["read_orders"]),
        (["read_orders", "write_orders"], ["write_orders"], ["read_orders", "write_orders"]),
        (["write_orders"], ["read_users"], []),
        ([], ["read_users"], []),
        (["handle_payments"], ["handle_payments"], ["handle_payments"]),
        (["handle_payments"], ["read_payments", "handle_shipping_rates"], []),
    ],
)
def test_limited_scopes_never_exceed_the_limit(scopes, limit, expected):
    assert limit_scopes(scopes, limit) == expected
    assert expand_scopes(limit_scopes(scopes, limit)) <= expand_scopes(scopes) & expand_scopes(limit)


@pytest.mark.parametrize("value", [None, [], "read_orders", ["read_orders", 1], ["x"], {}, 5])
def test_an_invalid_list_of_scopes_is_rejected(value):
    for read in (parse_app_scopes, parse_storefront_scopes):
        with pytest.raises(InvalidValue):
            read(value)


@pytest.mark.parametrize(
    "address,expected",
    [
        ("https://a.example", "https://a.example?code=1&state=%26"),
        ("https://a.example/?", "https://a.example/?code=1&state=%26"),
        ("https://a.example/?x=1", "https://a.example/?x=1&code=1&state=%26"),
        ("https://a.example/?x=1&", "https://a.example/?x=1&code=1&state=%26"),
    ],
)
def test_query_parameters_are_added_to_existing_ones(address, expected):
    assert add_query_parameters(address, code="1", state="&") == expected
    assert add_query_parameters(address, state=None) == address
