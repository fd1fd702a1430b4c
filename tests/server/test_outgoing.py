"""Outgoing requests never reach private addresses (SSRF), however the address is written or resolved."""

from __future__ import annotations

import asyncio
import ssl
import time
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from domain.outgoing import calls
from domain.outgoing.calls import AddressNotAllowed, RequestFailed
from domain.outgoing.targets import MAX_LENGTH, is_public_address, parse_target
from kernel.text import InvalidValue
from server.outgoing import outgoing_client
from tests.harness.http import system_trust

HEADERS = {"Content-Type": "application/json"}

REFUSED_AS_WRITTEN = [
    "http://example.com/",
    "ftp://example.com/",
    "file:///etc/passwd",
    "gopher://example.com/",
    "https:/example.com",
    "https://",
    "//example.com/",
    "example.com",
    "",
    "https://user:password@example.com/",
    "https://example.com@127.0.0.1/",
    "https://example.com/#fragment",
    "https://example.com:0/",
    "https://example.com:65536/",
    "https://example.com:port/",
    "https://exa mple.com/",
    "https://example.com\\@127.0.0.1/",
    "https://example.com/\r\nHost: inside",
    "https://example.com/\x00",
    "https://ex\u00e4mple.com/",
    "https://\u2460\u2461\u2466.0.0.1/",
    "https://example.com/" + "a" * MAX_LENGTH,
    # Loopback and private networks.
    "https://127.0.0.1/",
    "https://127.8.9.10:8443/",
    "https://0.0.0.0/",
    "https://10.0.0.5/",
    "https://172.16.31.1/",
    "https://192.168.1.1/",
    "https://100.64.0.1/",
    "https://100.100.100.200/latest/meta-data",
    "https://169.254.169.254/latest/meta-data",
    "https://168.63.129.16/",
    "https://192.0.0.192/",
    "https://198.18.0.1/",
    "https://224.0.0.1/",
    "https://240.0.0.1/",
    "https://255.255.255.255/",
    "https://[::1]/",
    "https://[::]/",
    "https://[fe80::1]/",
    "https://[fe80::1%25eth0]/",
    "https://[fc00::1]/",
    "https://[fd00:ec2::254]/",
    "https://[ff02::1]/",
    "https://[2001:db8::1]/",
    # An IPv4 address inside an IPv6 one.
    "https://[::ffff:127.0.0.1]/",
    "https://[::ffff:7f00:1]/",
    "https://[::ffff:169.254.169.254]/",
    "https://[::ffff:8.8.8.8]/",
    "https://[::127.0.0.1]/",
    "https://[64:ff9b::7f00:1]/",
    "https://[2002:7f00:1::]/",
    "https://[2001:0:7f00:1::]/",
    # Other notations of IPv4 addresses.
    "https://2130706433/",
    "https://0x7f000001/",
    "https://0x7f.0.0.1/",
    "https://017700000001/",
    "https://0177.0.0.1/",
    "https://127.1/",
    "https://127.0.1/",
    "https://127.0.0.01/",
    "https://127.0.0.1./",
    "https://0/",
    "https://0x/",
    "https://3232235777/",
    # Local host names.
    "https://localhost/",
    "https://localhost./",
    "https://api.localhost/",
    "https://printer.local/",
    "https://metadata.google.internal/computeMetadata/v1/",
    "https://intranet/",
    "https://postgres:5432/",
]  # fmt: skip


@pytest.mark.parametrize("url", REFUSED_AS_WRITTEN)
async def test_a_non_public_address_is_rejected_without_a_lookup(url):
    asked: list[str] = []

    async def lookup(host: str, _: int) -> list[str]:
        asked.append(host)
        return ["93.184.215.14"]

    with pytest.raises(InvalidValue):
        parse_target(url, allows_private=False)
    async with outgoing_client(allows_private=False, lookup=lookup, trust=system_trust()):
        with pytest.raises(AddressNotAllowed):
            await calls.post(url, headers=HEADERS, body=b"{}")
    assert asked == []


@pytest.mark.parametrize(
    "url, scheme, host, port",
    [
        ("https://example.com", "https", "example.com", 443),
        ("HTTPS://Example.COM:8443/Hook?a=b&c=%20", "https", "example.com", 8443),
        ("https://hooks.loja.com.br/vitrine/eventos", "https", "hooks.loja.com.br", 443),
        ("https://xn--bcher-kva.example/", "https", "xn--bcher-kva.example", 443),
        ("https://8.8.8.8/", "https", "8.8.8.8", 443),
        ("https://[2606:4700::1111]:444/", "https", "2606:4700::1111", 444),
        ("https://a_b.example.com/", "https", "a_b.example.com", 443),
    ],
)
def test_a_public_address_is_accepted(url, scheme, host, port):
    target = parse_target(url, allows_private=False)
    assert (target.scheme, target.host, target.port) == (scheme, host, port)


@pytest.mark.parametrize("url", ["http://localhost:9000/", "http://127.0.0.1/", "https://10.0.0.1/", "http://[::1]:1/"])
def test_development_may_call_loopback(url):
    parse_target(url, allows_private=True)


@pytest.mark.parametrize("url", ["http://2130706433/", "http://127.1/", "ftp://localhost/", "http://a@b/"])
def test_development_normalizes_addresses_too(url):
    with pytest.raises(InvalidValue):
        parse_target(url, allows_private=True)


@pytest.mark.parametrize(
    "matches",
    [
        ["127.0.0.1"],
        ["169.254.169.254"],
        ["::1"],
        ["::ffff:10.0.0.1"],
        ["fe80::1%eth0"],
        ["10.1.2.3"],
        ["93.184.215.14", "127.0.0.1"],
        ["2606:4700::1111", "fd00::1"],
        ["not an address"],
    ],
)
async def test_a_name_that_resolves_to_a_private_address_is_rejected_at_every_attempt(matches):
    async def lookup(_host: str, _port: int) -> list[str]:
        return matches

    async with outgoing_client(allows_private=False, lookup=lookup, trust=system_trust()):
        for _ in range(2):
            with pytest.raises(AddressNotAllowed):
                await calls.post("https://hooks.example.com/", headers=HEADERS, body=b"{}")


def test_all_private_networks_are_rejected():
    inside = "0.0.0.0 127.0.0.1 10.0.0.0 100.64.0.0 169.254.169.254 172.31.255.255 192.168.0.1 198.19.0.1 203.0.113.5"
    assert [address for address in inside.split() if is_public_address(address)] == []
    assert is_public_address("8.8.8.8")
    assert is_public_address("2606:4700:4700::1111")


# --- With a receiver -------------------------------------------------------------------------------------------------


@asynccontextmanager
async def receiver(handler, **how):
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", handler)
    server = TestServer(app, host="127.0.0.1", **{"scheme": "https"} if how else {})
    await server.start_server(**how)
    try:
        yield server
    finally:
        await server.close()


async def test_a_name_is_resolved_once_per_attempt_and_the_checked_address_is_used():
    heard: list[str] = []
    answers = [["127.0.0.1"], ["192.0.2.1"], ["127.0.0.1"]]
    asked: list[str] = []

    async def hear(request: web.Request) -> web.Response:
        heard.append(request.headers["Host"])
        return web.Response(text="ok")

    async def lookup(host: str, _: int) -> list[str]:
        asked.append(host)
        return answers[len(asked) - 1]

    async with receiver(hear) as server, outgoing_client(allows_private=True, lookup=lookup, trust=system_trust()):
        url = f"http://rebinds.example.com:{server.port}/"
        answer = await calls.post(url, headers=HEADERS, body=b"{}")
        assert (answer.status, answer.body, asked) == (200, b"ok", ["rebinds.example.com"])
        assert heard == [f"rebinds.example.com:{server.port}"]
        # Connections are not reused: the name is resolved again, now to a closed port.
        with pytest.raises(RequestFailed):
            await calls.post(url, headers=HEADERS, body=b"{}", connect_timeout=0.3)
        assert (len(asked), len(heard)) == (2, 1)


@pytest.mark.parametrize("name", ["xn--caf-dma.example.com", "XN--CAF-DMA.example.com", "xn--a.example.com"])
async def test_an_international_name_is_called_as_written_even_if_it_decodes_to_nothing(name):
    heard: list[str] = []

    async def hear(request: web.Request) -> web.Response:
        heard.append(request.headers["Host"])
        return web.Response()

    async def lookup(_host: str, _port: int) -> list[str]:
        return ["127.0.0.1"]

    async with receiver(hear) as server, outgoing_client(allows_private=True, lookup=lookup, trust=system_trust()):
        answer = await calls.post(f"http://{name}:{server.port}/", headers=HEADERS, body=b"{}")
        assert (answer.status, heard) == (200, [f"{name}:{server.port}"])


async def test_the_body_is_sent_byte_for_byte():
    seen: dict = {}

    async def hear(request: web.Request) -> web.Response:
        seen.update(body=await request.read(), headers=request.headers, path=request.raw_path)
        return web.Response(status=201, headers={"X-Answer": "yes"}, body=b"x" * 10)

    async with receiver(hear) as server, outgoing_client(allows_private=True, trust=system_trust()):
        answer = await calls.post(
            f"http://127.0.0.1:{server.port}/a%2Fb?c=%20d", headers={**HEADERS, "X-A": "é"}, body="ç".encode(), max_bytes=4
        )  # fmt: skip
    assert (answer.status, answer.headers["x-answer"], answer.body, answer.is_truncated) == (
        201,
        "yes",
        b"xxxx",
        True,
    )
    assert (seen["body"], seen["path"]) == ("ç".encode(), "/a%2Fb?c=%20d")
    assert "Cookie" not in seen["headers"]


async def test_redirects_are_not_followed():
    paths: list[str] = []

    async def hear(request: web.Request) -> web.Response:
        paths.append(request.path)
        return web.Response(status=307, headers={"Location": "/inside"})

    async with receiver(hear) as server, outgoing_client(allows_private=True, trust=system_trust()):
        answer = await calls.post(f"http://127.0.0.1:{server.port}/hook", headers={}, body=b"")
    assert (answer.status, paths) == (307, ["/hook"])


async def test_a_slow_response_times_out():
    async def hear(_: web.Request) -> web.Response:
        await asyncio.sleep(30)
        return web.Response()

    async with receiver(hear) as server, outgoing_client(allows_private=True, trust=system_trust()):
        began = time.monotonic()
        with pytest.raises(RequestFailed) as caught:
            await calls.post(f"http://127.0.0.1:{server.port}/", headers=HEADERS, body=b"{}", timeout=0.3)
        assert caught.value.timed_out
        assert time.monotonic() - began < 2


async def test_a_slow_name_server_counts_towards_the_connect_timeout():
    async def lookup(_host: str, _port: int) -> list[str]:
        await asyncio.sleep(30)
        return []

    async with outgoing_client(allows_private=False, lookup=lookup, trust=system_trust()):
        began = time.monotonic()
        with pytest.raises(RequestFailed) as caught:
            await calls.post("https://slow.example.com/", headers=HEADERS, body=b"{}", connect_timeout=0.2)
        assert caught.value.timed_out
        assert time.monotonic() - began < 2


async def test_compressed_responses_are_not_decompressed():
    async def hear(_: web.Request) -> web.Response:
        return web.Response(body=b"\x1f\x8b packed", headers={"Content-Encoding": "gzip"})

    async with receiver(hear) as server, outgoing_client(allows_private=True, trust=system_trust()):
        answer = await calls.post(f"http://127.0.0.1:{server.port}/", headers={}, body=b"")
    assert answer.body == b"\x1f\x8b packed"


@pytest.mark.parametrize(
    "garbage", [b"", b"hello\r\n\r\n", b"HTTP/1.1 200 OK\r\n" + b"X: " + b"a" * 70_000 + b"\r\n\r\n"]
)
async def test_a_malformed_response_is_a_failed_request(garbage):
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(garbage)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(talk, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with server, outgoing_client(allows_private=True):
        with pytest.raises(RequestFailed):
            await calls.post(f"http://127.0.0.1:{port}/", headers=HEADERS, body=b"{}")


def test_without_a_configured_client_nothing_is_called():
    with pytest.raises(calls.HttpCallerNotConfigured):
        asyncio.run(calls.post("https://example.com/", headers={}, body=b""))


# --- TLS -------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Create an untrusted certificate for hooks.example.com, with its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "hooks.example.com")])
    at = datetime.now(UTC)
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(at - timedelta(days=1))
        .not_valid_after(at + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("hooks.example.com")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    path = tmp_path_factory.mktemp("tls") / "both.pem"
    path.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        + made.public_bytes(serialization.Encoding.PEM)
    )
    return path


@pytest.mark.parametrize(
    "trusted, name, reached", [(True, "hooks", True), (True, "other", False), (False, "hooks", False)]
)
async def test_the_tls_certificate_must_match_the_host(certificate, trusted, name, reached):
    async def hear(_: web.Request) -> web.Response:
        return web.Response(text="ok")

    async def lookup(_host: str, _port: int) -> list[str]:
        return ["127.0.0.1"]

    serving = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    serving.load_cert_chain(certificate)
    trust = ssl.create_default_context(cafile=str(certificate)) if trusted else None
    async with (
        receiver(hear, ssl=serving) as server,
        outgoing_client(allows_private=True, lookup=lookup, trust=trust),
    ):
        url = f"https://{name}.example.com:{server.port}/"
        if reached:
            assert (await calls.post(url, headers={}, body=b"")).status == 200
        else:
            with pytest.raises(RequestFailed, match="TLS failed"):
                await calls.post(url, headers={}, body=b"")
