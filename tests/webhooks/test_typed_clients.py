"""The typed clients accept what the worker sends, and nothing else."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from tests.harness.clients import NewApp
from tests.harness.sample_store import SampleStore
from tests.harness.typed_clients import TypedClient
from tests.webhooks.conftest import RunWorker
from tests.webhooks.kit import WEBHOOKS, emit_events, subscribe
from tests.webhooks.receiver import Received, Receiver
from tests.webhooks.test_documented import PAGE, SECRET

pytestmark = pytest.mark.slow


def documented_delivery() -> dict[str, Any]:
    """Return the test vector of docs/events.md, at its time."""
    block = re.search(r"## Generated: a test vector\n.*?```json\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert block is not None
    vector: dict[str, Any] = json.loads(block[1])
    return vector | {"secrets": SECRET, "now": int(vector["headers"]["webhook-timestamp"])}


def delivery_of(received: Received, *secrets: str) -> dict[str, Any]:
    return {"headers": dict(received.headers), "body": received.raw.decode(), "secrets": list(secrets)}


async def test_real_deliveries_are_verified_during_a_rotation_of_the_secret(
    typed_client: TypedClient, sample: SampleStore, new_app: NewApp, receiver: Receiver, run_worker: RunWorker
) -> None:
    app = await new_app(at=await sample.client(sample.owner))
    await subscribe(app, receiver.url())
    old = app.user.client_secret
    rotated = await app.post(f"{WEBHOOKS}/rotate-secret", {"client_secret": old})
    new = rotated.body["client_secret"]
    await emit_events(sample.store, data={"name": "João “Jô” <3 / ☕\u2028"}, times=2)
    async with run_worker():
        await receiver.wait_for(2)
    deliveries = [
        delivery_of(received, *secrets)
        for received in receiver.received
        for secrets in ([old], [new], ["vcs_wrong", new], ["vcs_wrong"])
    ]
    verified = await typed_client("webhooks", deliveries=deliveries)
    ids = [received.headers["webhook-id"] for received in receiver.received]
    assert verified == [ids[0], ids[0], ids[0], None, ids[1], ids[1], ids[1], None]


async def test_only_the_documented_delivery_is_accepted_and_no_change_of_it(typed_client: TypedClient) -> None:
    delivery = documented_delivery()
    headers = delivery["headers"]
    signature = headers["webhook-signature"]
    upper = {name.title(): value for name, value in headers.items()}
    accepted = [
        delivery,
        delivery | {"headers": upper},
        delivery | {"now": delivery["now"] + 299},
        delivery | {"now": delivery["now"] - 299},
        delivery | {"headers": headers | {"webhook-signature": f"v2,xx v1,AAAA {signature}"}},
    ]
    refused = [
        delivery | {"now": delivery["now"] + 301},
        delivery | {"now": delivery["now"] - 301},
        delivery | {"body": delivery["body"] + " "},
        delivery | {"secrets": SECRET[:-1]},
        delivery | {"secrets": []},
        *(delivery | {"headers": headers | change} for change in (
            {"webhook-id": "evt_0"},
            {"webhook-timestamp": str(delivery["now"] + 1)},
            {"webhook-timestamp": "1e9"},
            {"webhook-timestamp": ""},
            {"webhook-signature": ""},
            {"webhook-signature": signature.removeprefix("v1,")},
            {"webhook-signature": signature.lower()},
            {"webhook-signature": "v1,\u00e9"},
        )),
    ]  # fmt: skip
    verified = await typed_client("webhooks", deliveries=[*accepted, *refused])
    assert verified == [headers["webhook-id"]] * len(accepted) + [None] * len(refused)
