"""The typed client of Vitrine stores: GraphQL and the REST families, sign-in and renewal, retries, pagination, events, webhooks."""

from __future__ import annotations

from vitrine_client.client import TwoFactorChallenge, Vitrine
from vitrine_client.credentials import ApiKey, AppTokens, StorefrontKey, Tokens, UserSession
from vitrine_client.errors import (
    ApiError,
    AppsError,
    ConnectionFailed,
    CurrentError,
    GraphQLError,
    LegacyError,
    VitrineError,
    WebhookRejected,
)
from vitrine_client.events import Event
from vitrine_client.transport import Credential, NoCredential, Request, Response, RetryPolicy
from vitrine_client.webhooks import WebhookEvent, verify_webhook

__all__ = [
    "ApiError",
    "ApiKey",
    "AppTokens",
    "AppsError",
    "ConnectionFailed",
    "Credential",
    "CurrentError",
    "Event",
    "GraphQLError",
    "LegacyError",
    "NoCredential",
    "Request",
    "Response",
    "RetryPolicy",
    "StorefrontKey",
    "Tokens",
    "TwoFactorChallenge",
    "UserSession",
    "Vitrine",
    "VitrineError",
    "WebhookEvent",
    "WebhookRejected",
    "verify_webhook",
]
