"""Scopes of apps: what includes what, what lies within what, and which privilege covers which."""

import pytest

from auth.app_scopes import APP_SCOPES, privilege_for, read_app_scopes, read_storefront_scopes, widen, within
from auth.privileges import ALL
from auth.redirects import with_parameters
from kernel.text import Malformed


def test_every_scope_is_covered_by_a_privilege_that_exists():
    assert len(APP_SCOPES) == 14
    assert {privilege_for(name) for name in APP_SCOPES} <= ALL
    assert privilege_for("read_categories") == "view_catalog"
    assert privilege_for("write_inventory") == "manage_warehouses"


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
    ],
)
def test_what_lies_within_a_limit_never_goes_beyond_it(scopes, limit, expected):
    assert within(scopes, limit) == expected
    assert widen(within(scopes, limit)) <= widen(scopes) & widen(limit)


@pytest.mark.parametrize("value", [None, [], "read_orders", ["read_orders", 1], ["x"], {}, 5])
def test_what_is_no_list_of_scopes_is_malformed(value):
    for read in (read_app_scopes, read_storefront_scopes):
        with pytest.raises(Malformed):
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
def test_parameters_are_added_to_what_an_address_has(address, expected):
    assert with_parameters(address, code="1", state="&") == expected
    assert with_parameters(address, state=None) == address
