"""Send requests to Pagar.me, and distinguish refusals from answers that are none (docs/payments-pagarme.md#errors)."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field
from time import monotonic
from typing import Any

import orjson

from domain.outgoing import calls
from domain.outgoing.calls import AddressNotAllowed, OutgoingResponse, RequestFailed
from domain.payments.gateway import GatewayNotCalled, GatewayRefused, GatewayUnanswered
from kernel import logging, metrics

NAME = "pagarme"
TIMEOUT_SECONDS = 15.0
# An order with all its items, of which a list has several.
_MAX_ANSWER_BYTES = 2_000_000
_USER_AGENT = "Vitrine-Payments/1"
_UNAVAILABLE = "Esta forma de pagamento não está disponível agora."
_REFUSED = "O pagamento não foi aceito. Confira os dados e tente outra vez."
_NOT_DONE = (401, 403, 429)
_REFUSALS = (400, 404, 412, 422)
_MAX_FIELDS = 10

_CALLS = metrics.counter(
    "vitrine_pagarme_calls_total", "Requests to Pagar.me, by their method and result.", "method", "result"
)
_SECONDS = metrics.histogram("vitrine_pagarme_call_seconds", "Time of a request to Pagar.me.")

_url = ""


def configure(url: str) -> None:
    """Set the address of the API (VITRINE_PAGARME_URL)."""
    global _url
    _url = url.rstrip("/")


class NotThere(GatewayRefused):
    """Pagar.me knows no such record (404)."""


@dataclass(frozen=True, slots=True)
class Client:
    """Requests with the secret key of one payment method."""

    secret_key: str = field(repr=False)

    async def send(
        self, method: str, path: str, body: Mapping[str, Any] | None = None, key: str | None = None
    ) -> dict[str, Any]:
        """Send a request and return the object of its answer; `key` is the Idempotency-Key.

        Raise `NotThere` and `GatewayRefused` for what Pagar.me refuses, `GatewayNotCalled` if it didn't look at the request, and
        `GatewayUnanswered` for everything else.
        """
        started, result = monotonic(), "unanswered"
        try:
            answer = await self._send(method, path, body, key)
            result = "ok"
            return answer
        except GatewayNotCalled:
            result = "not_called"
            raise
        except GatewayRefused:
            result = "refused"
            raise
        finally:
            _CALLS.add(method, result)
            _SECONDS.observe(_SECONDS.child(), monotonic() - started)

    async def _send(self, method: str, path: str, body: Mapping[str, Any] | None, key: str | None) -> dict[str, Any]:
        credentials = base64.b64encode(f"{self.secret_key}:".encode()).decode()
        headers = {"Authorization": f"Basic {credentials}", "Accept": "application/json", "User-Agent": _USER_AGENT}
        if body is not None:
            headers["Content-Type"] = "application/json"
        if key is not None:
            headers["Idempotency-Key"] = key
        try:
            response = await calls.send(
                method,
                f"{_url}{path}",
                headers=headers,
                body=b"" if body is None else orjson.dumps(body),
                timeout=TIMEOUT_SECONDS,
                max_bytes=_MAX_ANSWER_BYTES,
            )
        except AddressNotAllowed as error:
            raise GatewayNotCalled("gateway_unavailable", _UNAVAILABLE) from error
        except RequestFailed as error:
            raise GatewayUnanswered(str(error)) from error
        return _read(method, path, response)


def _read(method: str, path: str, response: OutgoingResponse) -> dict[str, Any]:
    status = response.status
    if status in (200, 201):
        return _parse(response)
    if status in _NOT_DONE:
        _log(method, path, response)
        raise GatewayNotCalled("gateway_unavailable", _UNAVAILABLE)
    if status in _REFUSALS:
        _log(method, path, response)
        raise NotThere("not_found", _REFUSED) if status == 404 else GatewayRefused("invalid_request", _REFUSED)
    raise GatewayUnanswered(f"answered {status}")


def _parse(response: OutgoingResponse) -> dict[str, Any]:
    if response.is_truncated:
        raise GatewayUnanswered("the answer is too large")
    try:
        answer = orjson.loads(response.body)
    except orjson.JSONDecodeError as error:
        raise GatewayUnanswered("the answer is no JSON") from error
    if not isinstance(answer, dict):
        raise GatewayUnanswered("the answer is no object")
    return answer


def _log(method: str, path: str, response: OutgoingResponse) -> None:
    """Log which fields Pagar.me refused: not their values, which are a customer's, nor its message, which may repeat them."""
    try:
        errors = orjson.loads(response.body)["errors"]
    except (orjson.JSONDecodeError, KeyError, TypeError):
        errors = {}
    fields = [str(name)[:100] for name in errors][:_MAX_FIELDS] if isinstance(errors, dict) else []
    logging.event(
        "pagarme refused a request",
        level="warning",
        method=method,
        path=path.partition("?")[0],
        status=response.status,
        fields=fields,
    )
