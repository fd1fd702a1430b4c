// Errors of the client: one class for each family's error form (docs/reference/shared.md#errors).

type Json = Record<string, unknown>;

// Codes of GraphQL, where an error of execution has the status 200.
const PASSING = new Set(["UNAVAILABLE", "RATE_LIMITED", "TENANT_CLOSED"]);

/** Any failure that this package reports. */
export class VitrineError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
  }
}

/** No complete response arrived. A request that `wasSent` may have taken effect. */
export class ConnectionFailed extends VitrineError {
  constructor(
    message: string,
    readonly wasSent: boolean,
    cause?: unknown,
  ) {
    super(message, { cause });
  }
}

/** A request that Vitrine did not send, or sent too long ago. */
export class WebhookRejected extends VitrineError {}

export interface ErrorParts {
  readonly message: string;
  readonly code?: string | undefined;
  readonly fields?: Readonly<Record<string, string>> | undefined;
  readonly field?: string | undefined;
  readonly details?: Readonly<Json> | undefined;
}

export interface ErrorOrigin {
  readonly status: number;
  readonly requestId: string;
  readonly retryAfter: number | undefined;
}

/** A refusal of the server. */
export class ApiError extends VitrineError {
  readonly family: "current" | "apps" | "legacy" | "graphql" = "legacy";
  readonly status: number;
  /** Finds the server's log line. */
  readonly requestId: string;
  /** Seconds. */
  readonly retryAfter: number | undefined;
  /** Stable; empty where the family has none. */
  readonly code: string;
  /** The refused fields with their codes. */
  readonly fields: Readonly<Record<string, string>>;
  /** The first of them. */
  readonly field: string | undefined;
  /** Further members of the error. */
  readonly details: Readonly<Json>;

  constructor(origin: ErrorOrigin, parts: ErrorParts) {
    super(parts.message);
    this.status = origin.status;
    this.requestId = origin.requestId;
    this.retryAfter = origin.retryAfter;
    this.code = parts.code ?? "";
    this.fields = parts.fields ?? {};
    this.field = parts.field ?? Object.keys(this.fields)[0];
    this.details = parts.details ?? {};
  }

  /** Whether the same request may succeed later. */
  get isPassing(): boolean {
    return this.status >= 500 || this.status === 429 || PASSING.has(this.code);
  }
}

/** An error of `/api/v1`. */
export class CurrentError extends ApiError {
  override readonly family = "current";
}

/** An error of `/api/admin` and `/api/storefront`. */
export class AppsError extends ApiError {
  override readonly family = "apps";
}

/** An error of the legacy API, which has no codes. */
export class LegacyError extends ApiError {
  override readonly family = "legacy";
}

export interface GraphqlProblem {
  readonly message: string;
  readonly path?: readonly (string | number)[];
  readonly extensions?: { readonly code?: string; readonly field?: string; readonly details?: Json };
}

/** Errors of a GraphQL document, with the `data` that was returned nevertheless; the other members are the first error's. */
export class GraphqlError extends ApiError {
  override readonly family = "graphql";

  constructor(
    origin: ErrorOrigin,
    parts: ErrorParts,
    readonly errors: readonly GraphqlProblem[] = [],
    readonly data: unknown = null,
  ) {
    super(origin, parts);
  }
}

const KNOWN = new Set(["error", "message", "status", "fields", "errors", "data", "extensions", "error_description"]);

function classOf(path: string): typeof CurrentError | typeof AppsError | typeof LegacyError | typeof GraphqlError {
  if (path.startsWith("/graphql")) return GraphqlError;
  if (path.startsWith("/api/v1/")) return CurrentError;
  return /^\/api\/(admin|storefront)\//.test(path) ? AppsError : LegacyError;
}

/** Build the error of a response from its JSON, or from anything else where it has none. */
export function errorOf(path: string, origin: ErrorOrigin, body: unknown): ApiError {
  const kind = classOf(path);
  if (!isObject(body)) return new kind(origin, { message: `HTTP status ${origin.status}` });
  if (kind === GraphqlError && Array.isArray(body["errors"]) && body["errors"].length > 0)
    return graphqlError(origin, body["errors"] as GraphqlProblem[], body["data"]);
  const error = body["error"];
  // A store rule at the checkout.
  if (isObject(error)) return new kind(origin, error as unknown as ErrorParts);
  const texts = [body["message"], body["error_description"], body["detail"], error];
  return new kind(origin, {
    message: String(texts.find((text) => text) ?? `HTTP status ${origin.status}`),
    code: kind === LegacyError ? "" : String(error ?? ""),
    fields: body["fields"] as Record<string, string> | undefined,
    details: Object.fromEntries(Object.entries(body).filter(([name]) => !KNOWN.has(name))),
  });
}

function graphqlError(origin: ErrorOrigin, errors: GraphqlProblem[], data: unknown): GraphqlError {
  const { code, field, details: { fields, ...details } = {} } = errors[0]?.extensions ?? {};
  const message = errors[0]?.message ?? "";
  return new GraphqlError(origin, { message, code, field, fields: fields as Record<string, string> | undefined, details }, errors, data);
}

export function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
