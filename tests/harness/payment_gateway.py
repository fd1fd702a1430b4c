"""A gateway whose charges are those of the sandbox, and which answers as a test says: late, never, garbage, or after something else."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from domain.payments.gateway import ChargeRequest, ChargeState, Share
from domain.payments.gateways import GATEWAYS
from domain.payments.sandbox.gateway import SandboxGateway
from kernel.scope import Scope

NAME = "double"
Answer = Callable[[ChargeState], Awaitable[Any]]


async def _as_it_is(state: ChargeState) -> ChargeState:
    return state


async def _nothing(_: ChargeRequest) -> None:
    pass


@dataclass
class GatewayDouble:
    """The gateway; `before` runs before a charge is made, `answer` and `read_answer` return or raise what the caller gets."""

    before: Callable[[ChargeRequest], Awaitable[None]] = _nothing
    answer: Answer = _as_it_is
    read_answer: Answer = _as_it_is
    created: list[ChargeRequest] = field(default_factory=list)
    refunded: list[str] = field(default_factory=list)
    name: str = NAME
    splits: bool = False
    public_key: str = ""
    sandbox: SandboxGateway | None = None

    def __call__(self, scope: Scope, _: Any) -> GatewayDouble:
        self.sandbox = SandboxGateway(scope)
        return self

    @property
    def _sandbox(self) -> SandboxGateway:
        assert self.sandbox is not None
        return self.sandbox

    async def create(self, request: ChargeRequest) -> ChargeState:
        await self.before(request)
        self.created.append(request)
        return await self.answer(await self._sandbox.create(request))

    async def read(self, payment_id: UUID, charge_id: str | None) -> ChargeState | None:
        state = await self._sandbox.read(payment_id, charge_id)
        return None if state is None else await self.read_answer(state)

    async def cancel(self, charge_id: str, key: str) -> ChargeState:
        return await self._sandbox.cancel(charge_id, key)

    async def refund(self, charge_id: str, amount_cents: int, key: str, _: tuple[Share, ...] = ()) -> ChargeState:
        self.refunded.append(key)
        return await self.answer(await self._sandbox.refund(charge_id, amount_cents, key))


def register(gateway: GatewayDouble) -> GatewayDouble:
    """Let payment methods with the processor `double` use the gateway."""
    GATEWAYS[NAME] = gateway
    return gateway
