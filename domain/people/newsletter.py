"""Newsletter subscriptions of shoppers: confirmed by a mailed token, ended by another one (docs/reference/graphql.md#newsletter).

A token is its data, encrypted under the deployment's key: nothing is stored of an address until its owner confirms. Responses and the work
done for them are the same for subscribed and other addresses, for which mails are also queued without a recipient.
"""

from __future__ import annotations

from auth import lockout
from domain.content.languages import read_language
from domain.mails import outbox
from domain.mails.outbox import Recipient
from domain.mails.texts import MailType
from domain.people import outreach, sealed_tokens
from kernel.fields import InputValues, read_fields
from kernel.scope import Scope
from models import audit
from models.connection.database import execute, fetchval, transaction

REQUESTED = "a mail says how to confirm the subscription"
CONFIRMED = "subscribed"
CANCELLED = "unsubscribed"

TOKEN_PURPOSES = _CONFIRM, _CANCEL = "newsletter_confirm", "newsletter_cancel"

_IS_SUBSCRIBED = """
SELECT EXISTS (SELECT FROM subscribers WHERE tenant_id = $1 AND email = $2 AND status = 'A' AND deleted_at IS NULL)
"""
_RESUME = "UPDATE subscribers SET status = 'A', updated_at = $3 WHERE tenant_id = $1 AND id = $2 AND status <> 'A'"
_END = """
UPDATE subscribers SET status = 'D', updated_at = $3 WHERE tenant_id = $1 AND email = $2 AND status = 'A' AND deleted_at IS NULL
RETURNING public_id
"""


async def request_subscription(scope: Scope, values: InputValues) -> None:
    """Mail a token that confirms the subscription of an address; at most three an hour, and none to one that is subscribed.

    Keys: `email`*, `lang_code`. Raises `RateLimited`, and `ValidationFailed`, but never for what is known of the address.
    """
    email = str(read_fields({"email": outreach.SUBSCRIBER_FIELDS["email"]}, values, creating=True)["email"])
    language = await read_language(scope, values)
    await lockout.count_attempt(scope, "newsletter_subscribe")
    async with transaction(scope):
        await outbox.lock_address(scope, email)
        is_subscribed = await fetchval(_IS_SUBSCRIBED, scope.store.id, email)
        is_over = await outbox.is_over_hourly_limit_of_address(scope, MailType.NEWSLETTER_CONFIRM, email)
        to = None if is_subscribed or is_over else Recipient(None, email, email)
        token = sealed_tokens.write(scope, _CONFIRM, {"email": email, **language}, sealed_tokens.LIFETIME)
        await outbox.queue_mail(scope, MailType.NEWSLETTER_CONFIRM, to, token)


async def confirm_subscription(scope: Scope, token: str) -> None:
    """Subscribe the address of a mailed token, and mail it the token that ends the subscription; again it changes nothing.

    Raises ValidationFailed (`token_invalid`).
    """
    data = sealed_tokens.read(scope, _CONFIRM, token)
    sealed_tokens.check_time(scope, data)
    email = data["email"]
    async with transaction(scope):
        await outbox.lock_address(scope, email)
        if await fetchval(_IS_SUBSCRIBED, scope.store.id, email):
            return
        subscriber_id, existed = await outreach.subscribe(scope, {**data, "status": "A"})
        if existed and await execute(_RESUME, scope.store.id, subscriber_id, scope.now):
            await audit.record(scope, "subscriber.updated", "subscriber", subscriber_id, {"fields": ["status"]})
        end = sealed_tokens.write(scope, _CANCEL, {"email": email})
        await outbox.queue_mail(scope, MailType.NEWSLETTER_CANCEL, Recipient(None, email, email), end)


async def cancel_subscription(scope: Scope, token: str) -> None:
    """End the subscription of a mailed token's address, if there is one; raises ValidationFailed (`token_invalid`)."""
    data = sealed_tokens.read(scope, _CANCEL, token)
    async with transaction(scope):
        public_id = await fetchval(_END, scope.store.id, data["email"], scope.now)
        if public_id is not None:
            await audit.record(scope, "subscriber.updated", "subscriber", public_id, {"fields": ["status"]})
