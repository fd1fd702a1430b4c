"""The client's address and its rate limit key."""

from __future__ import annotations

import pytest

from kernel.ip_addresses import (
    NO_ADDRESS,
    client_address,
    is_loopback,
    parse_ip_address,
    parse_network,
    rate_limit_key,
)

PROXIES = [parse_network(text) for text in ("10.0.0.0/8", "2001:db8:ffff::/48")]


@pytest.mark.parametrize(
    "peer,forwarded,client",
    [
        ("192.0.2.1", [], "192.0.2.1"),
        ("192.0.2.1", ["198.51.100.9"], "192.0.2.1"),
        ("10.0.0.1", [], "10.0.0.1"),
        ("10.0.0.1", ["198.51.100.9"], "198.51.100.9"),
        ("10.0.0.1", ["203.0.113.5, 198.51.100.9"], "198.51.100.9"),
        ("10.0.0.1", ["203.0.113.5", "198.51.100.9"], "198.51.100.9"),
        ("10.0.0.1", ["198.51.100.9, 10.0.0.2, 10.0.0.3"], "198.51.100.9"),
        ("10.0.0.1", ["10.0.0.2,10.0.0.3"], "10.0.0.2"),
        ("10.0.0.1", ["198.51.100.9:4711"], "198.51.100.9"),
        ("10.0.0.1", ["[2001:db8::7]:4711"], "2001:db8::7"),
        ("10.0.0.1", ["2001:db8::7"], "2001:db8::7"),
        ("2001:db8:ffff::1", ["198.51.100.9"], "198.51.100.9"),
        ("::ffff:10.0.0.1", ["198.51.100.9"], "198.51.100.9"),
        ("::ffff:192.0.2.1", [], "192.0.2.1"),
        ("fe80::1%eth0", [], "fe80::1"),
        # Nothing left of an invalid entry can be trusted: the proxy that wrote it counts as the client.
        ("10.0.0.1", ["198.51.100.9, unknown"], "10.0.0.1"),
        ("10.0.0.1", ["198.51.100.9, unix:, 10.0.0.2"], "10.0.0.2"),
        ("10.0.0.1", [""], "10.0.0.1"),
        ("10.0.0.1", [",,"], "10.0.0.1"),
        ("10.0.0.1", ["1" * 5_000], "10.0.0.1"),
        ("10.0.0.1", ["\udcff"], "10.0.0.1"),
        # A Unix socket has no address.
        ("", ["198.51.100.9"], NO_ADDRESS),
        (None, ["198.51.100.9"], NO_ADDRESS),
        ("/run/vitrine.sock", [], NO_ADDRESS),
    ],
)
def test_the_client_is_the_rightmost_untrusted_address(peer, forwarded, client):
    assert client_address(peer, forwarded, PROXIES) == client


def test_without_trusted_proxies_the_peer_is_the_client():
    assert client_address("10.0.0.1", ["198.51.100.9"], ()) == "10.0.0.1"


@pytest.mark.parametrize(
    "address,name",
    [
        ("192.0.2.1", "192.0.2.1"),
        ("2001:db8:0:7:1:2:3:4", "2001:db8:0:7::/64"),
        ("2001:db8:0:7::", "2001:db8:0:7::/64"),
        (NO_ADDRESS, NO_ADDRESS),
    ],
)
def test_ipv6_addresses_are_rate_limited_by_64_bit_network(address, name):
    assert rate_limit_key(address) == name


@pytest.mark.parametrize("text", ["", "x", "256.1.1.1", "1.2.3", ":", "[", "[]", "1.2.3.4/8", "0x7f.1"])
def test_an_invalid_address_is_none(text):
    assert parse_ip_address(text) is None


@pytest.mark.parametrize(
    "host,loopback",
    [("127.0.0.1", True), ("::1", True), ("[::1]", True), ("localhost", True), ("0.0.0.0", False), ("::", False)],
)  # fmt: skip
def test_loopback_hosts_are_recognized(host, loopback):
    assert is_loopback(host) is loopback
