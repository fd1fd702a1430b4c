"""Call an installed app: a signed POST to the address that it registered, with a deadline and a validated answer.

    answer = await call_app(scope, client_id, PAYMENT_CREATE, {"payment_id": …})

The answer fits the schema of the call (`call_types`), or `AppNotCalled` or `AppCallFailed` is raised. Inside a
transaction it raises `CallInTransaction`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from time import monotonic
from typing import Any

from auth.app_scopes import expand_scopes
from auth.secrets import DecryptionError, valid_app_secrets
from domain.app_calls import log
from domain.app_calls.call_types import MAX_ANSWER_BYTES, CallType, InvalidAnswer
from domain.app_calls.circuit_breaker import CircuitBreaker
from domain.app_calls.log import CallRecord, CallState
from domain.outgoing import calls
from domain.outgoing.calls import AddressNotAllowed, OutgoingResponse, RequestFailed
from domain.webhooks.envelope import SignedRequest, sign_request
from kernel import metrics, tracing
from kernel.clock import format_rfc3339, now
from kernel.ids import uuid7
from kernel.logging import request_id_from
from kernel.scope import Scope, active_scope
from models.connection import database

_CALLS = metrics.counter("vitrine_app_calls_total", "Calls to apps, by their result.", "call", "result")
_SECONDS = metrics.histogram("vitrine_app_call_seconds", "Time of a call to an app.", "kind")
breaker = CircuitBreaker()
"""The failures of the apps that this process calls."""

_FIND = """
    select i.id, i.scopes, a.client_id, a.call_urls ->> $3 as url, a.secret_sealed, a.previous_secret_sealed, a.previous_secret_until
    from app_installations i join apps a on a.id = i.app_id
    where i.tenant_id = $1 and a.client_id = $2 and i.removed_at is null
"""


class AppNotCalled(Exception):
    """No request was sent: the app isn't installed, lacks the scope or an address, or is skipped because it fails."""


class AppCallFailed(Exception):
    """The app gave no valid answer in time. Whether it did what it was asked for is not known."""


@dataclass(frozen=True, slots=True)
class _CalledApp:
    installation_id: int
    client_id: str
    url: str
    secrets: list[str]


async def call_app(scope: Scope, client_id: str, call: CallType, data: Mapping[str, Any]) -> dict[str, Any]:
    """Call the app of the store and return its answer; `data` fits the request's schema, the answer its own.

    The deadline of the kind covers everything but the log entry. Raise `AppNotCalled` and `AppCallFailed`.
    """
    database.check_no_transaction()
    started = monotonic()
    with active_scope(scope):
        try:
            app = await _find_app(scope, client_id, call)
            key = (scope.store.id, app.installation_id, call.kind.name)
            if not breaker.admit(key):
                raise AppNotCalled("the app has failed too often; it is called again soon")
        except AppNotCalled:
            _CALLS.add(call.name, "skipped")
            raise
        record, answer = await _attempt(scope, app, call, data, started)
        if record.state is CallState.FAILED:
            breaker.record_failure(key)
        else:
            breaker.record_success(key)
        _CALLS.add(call.name, record.state.value)
        _SECONDS.observe(_SECONDS.child(call.kind.name), monotonic() - started)
        await log.write(scope, record)
    if answer is None:
        raise AppCallFailed(record.reason)
    return answer


async def _find_app(scope: Scope, client_id: str, call: CallType) -> _CalledApp:
    kind = call.kind
    row = await database.fetchrow(_FIND, scope.store.id, client_id, kind.name)
    if row is None:
        raise AppNotCalled("the app is not installed")
    if kind.scope not in expand_scopes(row["scopes"]):
        raise AppNotCalled(f"the app lacks the scope {kind.scope}")
    if not row["url"]:
        raise AppNotCalled(f"the app has registered no address for {kind.name}")
    try:
        secrets = valid_app_secrets(
            row["secret_sealed"], row["previous_secret_sealed"], row["previous_secret_until"], now()
        )
    except DecryptionError as error:
        raise AppNotCalled("the app's secret was made with another VITRINE_SECRET_KEY") from error
    return _CalledApp(row["id"], row["client_id"], row["url"], secrets)


async def _attempt(
    scope: Scope, app: _CalledApp, call: CallType, data: Mapping[str, Any], started: float
) -> tuple[CallRecord, dict[str, Any] | None]:
    """Make the call; return its record, and its answer unless it failed."""
    at = now()
    subject = str(data.get(call.subject) or "") if call.subject else ""

    def record(state: CallState, status: int | None, reason: str = "") -> CallRecord:
        duration_ms = round((monotonic() - started) * 1_000)
        return CallRecord(app.installation_id, call.name, subject, at, state, status, reason, duration_ms)

    try:
        response = await _post(_build_call(scope, app.client_id, call, data, app.secrets), app.url, call, started)
    except (AddressNotAllowed, RequestFailed) as error:
        return record(CallState.FAILED, None, str(error)), None
    try:
        answer = _read_answer(call, response)
    except InvalidAnswer as error:
        return record(CallState.FAILED, response.status, str(error)), None
    refusal = answer.get("refusal")
    if refusal is not None:
        return record(CallState.REFUSED, response.status, refusal["code"]), answer
    return record(CallState.ANSWERED, response.status), answer


async def _post(request: SignedRequest, url: str, call: CallType, started: float) -> OutgoingResponse:
    left = call.kind.deadline_seconds - (monotonic() - started)
    if left <= 0:
        raise RequestFailed("timed out", timed_out=True)
    return await calls.post(
        url,
        headers=request.headers,
        body=request.body,
        timeout=left,
        connect_timeout=min(calls.CONNECT_SECONDS, left),
        max_bytes=MAX_ANSWER_BYTES,
    )


def _read_answer(call: CallType, response: OutgoingResponse) -> dict[str, Any]:
    if response.status != 200:
        raise InvalidAnswer(f"answered {response.status}")
    if response.is_truncated:
        raise InvalidAnswer(f"the answer is larger than {MAX_ANSWER_BYTES} bytes")
    return call.parse_answer(response.body)


def _build_call(
    scope: Scope, client_id: str, call: CallType, data: Mapping[str, Any], secrets: list[str]
) -> SignedRequest:
    """Build and sign the request of a call: the envelope of a delivery, with `call` in place of the event and its sequence."""
    at = now()
    envelope = {
        "id": f"call_{uuid7().hex}",
        "call": call.name,
        "timestamp": format_rfc3339(at),
        "tenant_id": str(scope.store.public_id),
        "app_id": client_id,
        "data": data,
    }
    return sign_request(
        envelope,
        call.name,
        secrets,
        at,
        request_id=request_id_from(scope.request_id),
        traceparent=tracing.active.traceparent() if tracing.active is not None else None,
    )
