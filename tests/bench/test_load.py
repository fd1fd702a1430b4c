from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

import pytest

from bench import load
from bench.load import UnexpectedResponse, send_request
from bench.requests import http


class _Handler(BaseHTTPRequestHandler):
    """Responds with the same JSON at /whole and, chunked, at /chunks; 304 with an entity tag at /unchanged; 404 elsewhere."""

    protocol_version = "HTTP/1.1"
    body: ClassVar[bytes] = json.dumps({"name": "Prato " * 50}).encode()

    def do_GET(self) -> None:
        if self.path == "/unchanged":
            self.send_response(304)
            self.send_header("ETag", 'W/"a"')
            self.end_headers()
            return
        self.send_response(200 if self.path in ("/whole", "/chunks") else 404)
        if self.path == "/chunks":
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            for part in (self.body[:100], self.body[100:], b""):
                self.wfile.write(b"%x\r\n%s\r\n" % (len(part), part))
        else:
            self.send_header("content-length", str(len(self.body)))
            self.end_headers()
            self.wfile.write(self.body)

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture
def address() -> Iterator[tuple[str, int]]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield server.server_address[0], server.server_address[1]  # type: ignore[misc]
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.mark.parametrize("path", ["/whole", "/chunks"])
def test_plain_and_chunked_responses_are_read_completely(address, path):
    response = send_request(address, http("GET", path, {}))

    assert (response.status, response.body) == (200, _Handler.body)


def test_a_round_measures_rate_and_latencies(address):
    sample = load.run(address, [http("GET", "/whole", {})], connections=2, seconds=0.3)

    assert sample.rate > 1
    assert 0 < sample.p50 <= sample.p99
    assert sample.size > len(_Handler.body)


def test_a_response_without_a_body_is_complete_after_its_headers(address):
    response = send_request(address, http("GET", "/unchanged", {}))

    assert (response.status, response.body, response.header("etag")) == (304, b"", 'W/"a"')
    assert load.run(address, [http("GET", "/unchanged", {})], connections=2, seconds=0.3, statuses=(304,)).rate > 1


@pytest.mark.parametrize("path, statuses", [("/unchanged", load.SUCCESS), ("/whole", (304,))])
def test_a_response_with_another_status_than_expected_ends_the_run(address, path, statuses):
    with pytest.raises(UnexpectedResponse):
        load.run(address, [http("GET", path, {})], connections=2, seconds=0.3, statuses=statuses)


def test_an_error_response_ends_the_run(address):
    with pytest.raises(UnexpectedResponse):
        load.run(address, [http("GET", "/nowhere", {})], connections=2, seconds=0.3)
