"""Delete what no rule reads any more, and what VITRINE_RETENTION limits, in one statement for each batch of a store.

`RULES` is the table of it. The audit log is deleted by the worker's role, because the serving role can only append to it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache

from auth.configuration import configured
from domain import idempotency
from domain.app_calls import log as app_call_log
from domain.apps import schema_usage
from kernel.retention import DEFAULT_DAYS
from kernel.scope import Scope, active_scope
from models.connection import database

BATCH_ROWS = 1_000
_AT_ONCE = timedelta(0)


@dataclass(frozen=True, slots=True)
class Rule:
    """Rows to delete: those of a table `t` for which the condition on the time `{0}` holds, or to change by SET `change`.

    The time is `after` (None: the lockout window) before now, or the days of the period in VITRINE_RETENTION.
    """

    table: str
    condition: str
    period: str = ""
    after: timedelta | None = _AT_ONCE
    change: str = ""

    def before(self, now: datetime, days: Mapping[str, int]) -> datetime:
        """Return the time up to which rows are old."""
        if self.period:
            return now - timedelta(days=days[self.period])
        return now - (configured().lockout_window if self.after is None else self.after)

    def sql(self, time: str) -> str:
        """Return the statement for at most $2 rows of the store $1."""
        action = f"UPDATE {self.table} SET {self.change}" if self.change else f"DELETE FROM {self.table}"
        return (
            f"{action} WHERE tenant_id = $1 AND id = ANY(ARRAY("
            f"SELECT t.id FROM {self.table} t WHERE t.tenant_id = $1 AND {self.condition.format(time)} LIMIT $2)) RETURNING 1"
        )


_UNDER_HOLD = "SELECT h.order_id FROM invoice_holds h WHERE h.tenant_id = $1 AND h.placed_at < {0}"
_HAS_INVOICE = "(t.firstname <> '' OR t.lastname <> '' OR t.company_name <> '' OR t.fields_data <> '{{}}')"  # the condition is a format

RULES = (
    Rule("wrong_attempts", "t.at <= {0}", after=None),
    Rule("lockouts", "t.until <= {0}"),
    Rule("legacy_tokens", "t.expires_at <= {0}"),
    Rule("sign_in_challenges", "t.expires_at <= {0}"),
    Rule("mailed_tokens", "t.expires_at <= {0}"),
    Rule("stock_notices", "t.created_at < {0}", after=timedelta(days=365)),
    # Workers price carts by the last quote, however old.
    Rule("carrier_quotes", "t.expires_at < {0}", after=timedelta(days=1)),
    Rule("idempotency_claims", "t.claimed_at < {0}", after=idempotency.RETENTION),
    # Mails without a recipient exist only so that unknown addresses take the same time as known ones.
    Rule("mails", "t.created_at < {0} AND t.status = 'N'", after=timedelta(hours=1)),
    Rule("mails", "t.created_at < {0}", "mails"),
    # Their refresh tokens are deleted by cascade.
    Rule("sessions", "(t.expires_at <= {0} OR t.ended_at <= {0})", "sessions"),
    Rule("refresh_tokens", "t.used_at IS NOT NULL AND t.expires_at <= {0}", "refresh_tokens"),
    # An expired token needs no reuse detection; an approval is deleted in the run after its last token.
    Rule("app_tokens", "t.expires_at <= {0}", "app_tokens"),
    Rule(
        "app_grants",
        "t.code_expires_at <= {0} AND NOT EXISTS (SELECT FROM app_tokens k WHERE k.tenant_id = t.tenant_id AND k.grant_id = t.id)",
        "app_tokens",
    ),
    # Ordered ones too: the order has the data.
    Rule("carts", "t.updated_at < {0} AND t.status <> 'open'", "carts"),
    # A UUIDv7 begins with its time. The id of a cart is none: the counter's own is that of the cart's first event.
    Rule(
        "event_sequences",
        "t.subject_type = 'cart'"
        " AND t.public_id < rpad(lpad(to_hex((extract(epoch FROM {0}) * 1000)::bigint), 12, '0'), 32, '0')::uuid"
        " AND NOT EXISTS (SELECT FROM carts c WHERE c.tenant_id = t.tenant_id AND c.public_id = t.subject_id)",
        "event_sequences",
    ),
    Rule("app_calls", "t.created_at < {0}", after=app_call_log.RETENTION),
    Rule("schema_usage", "t.last_used_at < {0}", after=schema_usage.RETENTION),
    Rule("notifications", "t.created_at < {0}", "notifications"),
    Rule("gateway_notifications", "t.created_at < {0} AND t.processed", "gateway_notifications"),
    Rule(
        "gateway_notifications",
        "t.created_at < {0} AND t.processed AND t.body <> ''",
        "gateway_bodies",
        change="body = ''",
    ),
    # What `domain.people.personal_data` leaves of the orders of erased persons for their invoices.
    Rule("order_addresses", f"t.order_id IN ({_UNDER_HOLD})", "invoices"),
    Rule(
        "orders",
        f"t.id IN ({_UNDER_HOLD}) AND {_HAS_INVOICE}",
        "invoices",
        change="firstname = '', lastname = '', company_name = '', fields_data = '{}', updated_at = now()",
    ),
    # In the run after the last of them.
    Rule(
        "invoice_holds",
        "t.placed_at < {0} AND NOT EXISTS (SELECT FROM order_addresses a WHERE a.tenant_id = $1 AND a.order_id = t.order_id)"
        f" AND NOT EXISTS (SELECT FROM orders o WHERE o.tenant_id = $1 AND o.id = t.order_id AND {_HAS_INVOICE.replace('t.', 'o.')})",
        "invoices",
    ),
)
AUDIT_RULE = Rule("audit_entries", "t.at < {0}", "audit_log")
_FORGET_ADDRESSES = "DELETE FROM signin_counts WHERE NOT EXISTS (SELECT FROM unnest(recent) AS at WHERE at > $1)"
_ADDRESS_MEMORY = timedelta(minutes=1)


async def delete_expired(scope: Scope, days: Mapping[str, int] = DEFAULT_DAYS, *, limit: int = BATCH_ROWS) -> None:
    """Delete the store's old rows, at most `limit` of a rule in a statement; each statement commits."""
    rules = [rule for rule in RULES if _limits(rule, days)]
    arguments = [rule.before(scope.now, days) for rule in rules]
    sql = _batch_sql(tuple(rules))
    with active_scope(scope):
        while limit in await database.fetchval(sql, scope.store.id, limit, *arguments):
            pass
    if _limits(AUDIT_RULE, days):
        await _delete_audit_entries(scope, AUDIT_RULE.before(scope.now, days), limit)


def _limits(rule: Rule, days: Mapping[str, int]) -> bool:
    return not rule.period or days[rule.period] > 0


@cache
def _batch_sql(rules: Sequence[Rule]) -> str:
    parts = [f"r{index} AS ({rule.sql(f'${index + 3}::timestamptz')})" for index, rule in enumerate(rules)]
    counts = [f"(SELECT count(*) FROM r{index})" for index in range(len(rules))]
    return f"WITH {', '.join(parts)} SELECT ARRAY[{', '.join(counts)}]"


async def _delete_audit_entries(scope: Scope, before: datetime, limit: int) -> None:
    sql = AUDIT_RULE.sql("$3::timestamptz")
    async with database.cross_store_connection() as platform:
        while await platform.execute(sql, scope.store.id, limit, before) == limit:
            pass


async def forget_addresses(now: datetime) -> None:
    """Delete the counters of addresses that haven't tried to sign in for a minute."""
    async with database.cross_store_connection() as platform:
        await platform.execute(_FORGET_ADDRESSES, now - _ADDRESS_MEMORY)
