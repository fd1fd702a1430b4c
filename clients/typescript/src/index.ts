export { TwoFactorChallenge, Vitrine, type VitrineOptions } from "./client.js";
export { ApiKey, type AppClient, AppTokens, type OnRenewed, StorefrontKey, type Tokens, UserSession } from "./credentials.js";
export {
  ApiError,
  AppsError,
  ConnectionFailed,
  CurrentError,
  GraphqlError,
  type GraphqlProblem,
  LegacyError,
  VitrineError,
  WebhookRejected,
} from "./errors.js";
export type { FeedEvent, FeedOptions } from "./events.js";
export type { Family, RequestOptions, ResultOf } from "./families.js";
export type { components as AppsComponents } from "./generated/apps.js";
export type { components as CurrentComponents } from "./generated/current.js";
export type { components as LegacyComponents } from "./generated/legacy.js";
export type { Connection, Document, ExecutionOptions } from "./graphql.js";
export type { SubscriptionOptions } from "./subscriptions.js";
export {
  type Credential,
  NoCredential,
  type RetryPolicy,
  type TransportOptions,
  type TransportRequest,
  type TransportResponse,
} from "./transport.js";
export { verifyWebhook, type WebhookEvent } from "./webhooks.js";
