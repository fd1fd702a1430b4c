// Send requests: credentials, renewal, retries, errors (docs/reference/shared.md#errors).
import { ApiError, ConnectionFailed, errorOf, isObject } from "./errors.js";

const REPEATABLE_METHODS = new Set(["GET", "HEAD", "PUT", "DELETE", "OPTIONS"]);
const CLOSED_STORES = new Set(["tenant_suspended", "tenant_maintenance"]);
const FIRST_PAUSE_SECONDS = 0.5;
const LONGEST_PAUSE_SECONDS = 20;
const CONNECT_FAILURES = new Set(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "UND_ERR_CONNECT_TIMEOUT", "EHOSTUNREACH", "ENETUNREACH"]);

export type HeaderValues = Readonly<Record<string, string>>;

/** What authenticates requests. */
export interface Credential {
  /** Return the headers of the next request. */
  headers(transport: Transport): Promise<HeaderValues>;
  /** Return whether there are other headers now than those refused with 401. */
  renew(transport: Transport, refused: HeaderValues): Promise<boolean>;
}

/** Requests without a credential. */
export class NoCredential implements Credential {
  async headers(_transport?: Transport): Promise<HeaderValues> {
    return {};
  }

  async renew(_transport: Transport, _refused: HeaderValues): Promise<boolean> {
    return false;
  }
}

/** How often a request is sent at most, and how long one pause may be; a longer `Retry-After` is not waited for. */
export interface RetryPolicy {
  readonly attempts: number;
  readonly longestWaitSeconds: number;
}

/** A request to the store. One with an `idempotencyKey`, or that `isRepeatable` anyway, is sent again when its fate is unknown. */
export interface TransportRequest {
  readonly method: string;
  readonly path: string;
  readonly query?: Readonly<Record<string, unknown>> | undefined;
  readonly body?: unknown;
  readonly headers?: HeaderValues | undefined;
  readonly idempotencyKey?: string | undefined;
  readonly isRepeatable?: boolean | undefined;
  readonly attempts?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** A successful response; `body` is its JSON, else its text, undefined without one. */
export interface TransportResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly body: unknown;
}

export interface TransportOptions {
  readonly url: string;
  /** The store's UUID, needed where stores share the host. */
  readonly store?: string | undefined;
  readonly fetch?: typeof fetch | undefined;
  readonly retries?: Partial<RetryPolicy> | undefined;
  /** Of one attempt; the server takes at most 30 s. */
  readonly timeoutSeconds?: number | undefined;
}

/** A connection to one store with one credential. */
export class Transport {
  private readonly retries: RetryPolicy;

  constructor(
    private readonly options: TransportOptions,
    readonly credential: Credential,
  ) {
    this.retries = { attempts: 5, longestWaitSeconds: 120, ...options.retries };
  }

  /** Return the same connection with another credential. */
  withCredential(credential: Credential): Transport {
    return new Transport(this.options, credential);
  }

  /** Return the response to a request, sent again as the policy allows; throw `ApiError`, `ConnectionFailed` or the signal's reason. */
  async send(request: TransportRequest): Promise<TransportResponse> {
    let wasRenewed = false;
    for (let attempt = 1; ; ) {
      const credentials = await this.credential.headers(this);
      try {
        return await this.exchange(request, credentials);
      } catch (error) {
        if (isRefusedToken(error) && !wasRenewed && (await this.credential.renew(this, credentials))) {
          wasRenewed = true;
          continue;
        }
        const pause = pauseAfter(error, request, attempt);
        const attempts = request.attempts ?? this.retries.attempts;
        if (pause === undefined || attempt >= attempts || pause > this.retries.longestWaitSeconds) throw error;
        attempt++;
        await sleep(pause, request.signal);
      }
    }
  }

  /** Open a response that is read as it arrives; its errors are those of `send`, without retries but for a renewed token. */
  async stream(request: TransportRequest, mayRenew = true): Promise<Response> {
    const credentials = await this.credential.headers(this);
    const response = await this.open(request, credentials, request.signal);
    if (response.ok) return response;
    const error = failure(request, response, await response.text());
    if (!mayRenew || !isRefusedToken(error) || !(await this.credential.renew(this, credentials))) throw error;
    return this.stream(request, false);
  }

  private async exchange(request: TransportRequest, credentials: HeaderValues): Promise<TransportResponse> {
    const timeout = AbortSignal.timeout((this.options.timeoutSeconds ?? 40) * 1000);
    const signal = request.signal ? AbortSignal.any([request.signal, timeout]) : timeout;
    const response = await this.open(request, credentials, signal);
    let text: string;
    try {
      text = await response.text();
    } catch (cause) {
      throw connectionFailed(cause, request.signal);
    }
    if (!response.ok) throw failure(request, response, text);
    const isJson = response.headers.get("Content-Type")?.includes("json") === true;
    const body = isJson ? parse(text) : text || undefined;
    if (isJson && body === undefined) throw new ConnectionFailed("no complete response: its JSON is broken", true);
    if (request.path === "/graphql" && isObject(body) && Array.isArray(body["errors"])) throw failure(request, response, text);
    return { status: response.status, headers: response.headers, body };
  }

  private async open(request: TransportRequest, credentials: HeaderValues, signal?: AbortSignal): Promise<Response> {
    const headers = new Headers({ Accept: "application/json", ...credentials, ...request.headers });
    if (this.options.store !== undefined) headers.set("X-Tenant-ID", this.options.store);
    if (request.idempotencyKey !== undefined) headers.set("Idempotency-Key", request.idempotencyKey);
    const init: RequestInit = { method: request.method, headers, redirect: "error", credentials: "omit" };
    if (signal) init.signal = signal;
    if (request.body !== undefined) {
      headers.set("Content-Type", "application/json");
      init.body = JSON.stringify(request.body);
    }
    try {
      return await (this.options.fetch ?? fetch)(this.options.url.replace(/\/+$/, "") + request.path + queryText(request.query), init);
    } catch (cause) {
      throw connectionFailed(cause, request.signal);
    }
  }
}

/** Return a query string: without undefined and null, `name[]` for each value of an array. */
function queryText(query: Readonly<Record<string, unknown>> = {}): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query))
    for (const item of Array.isArray(value) ? (value as unknown[]) : [value])
      if (item !== undefined && item !== null) parameters.append(Array.isArray(value) ? `${name}[]` : name, String(item));
  const text = parameters.toString();
  return text && `?${text}`;
}

function connectionFailed(cause: unknown, signal: AbortSignal | undefined): unknown {
  if (signal?.aborted) return signal.reason;
  const code = isObject(cause) && isObject(cause["cause"]) ? cause["cause"]["code"] : undefined;
  const detail = cause instanceof Error ? cause.message : String(cause);
  return new ConnectionFailed(`no complete response: ${detail}`, !CONNECT_FAILURES.has(String(code)), cause);
}

function failure(request: TransportRequest, response: Response, text: string): ApiError {
  const body = parse(text);
  const retryAfter = secondsToWait(response.headers.get("Retry-After"), body);
  return errorOf(request.path, { status: response.status, requestId: response.headers.get("X-Request-Id") ?? "", retryAfter }, body);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function secondsToWait(header: string | null, body: unknown): number | undefined {
  if (header !== null && /^\s*\d+\s*$/.test(header)) return Number(header);
  const moment = header === null ? NaN : Date.parse(header);
  if (!Number.isNaN(moment)) return Math.max(0, (moment - Date.now()) / 1000);
  const milliseconds = isObject(body) ? body["retry_after_ms"] : undefined;
  return typeof milliseconds === "number" ? milliseconds / 1000 : undefined;
}

function isRefusedToken(error: unknown): boolean {
  return error instanceof ApiError && error.status === 401;
}

/** Return after how many seconds the request may be sent again, undefined if it may not. */
function pauseAfter(error: unknown, request: TransportRequest, attempt: number): number | undefined {
  const mayRepeat = request.isRepeatable === true || REPEATABLE_METHODS.has(request.method) || request.idempotencyKey !== undefined;
  // Full jitter: clients that failed together don't come back together.
  const backoff = Math.random() * Math.min(LONGEST_PAUSE_SECONDS, FIRST_PAUSE_SECONDS * 2 ** attempt);
  if (error instanceof ConnectionFailed) return mayRepeat || !error.wasSent ? backoff : undefined;
  if (!(error instanceof ApiError)) return undefined;
  const pause = error.retryAfter ?? backoff;
  if (error.status === 429) return pause; // refused before anything was done
  const isRunning = error.status === 409 && [error.code, error.message].includes("in_progress");
  if (isRunning && request.idempotencyKey !== undefined) return pause;
  const isUnavailable = [502, 503, 504].includes(error.status) || error.code === "UNAVAILABLE";
  return isUnavailable && !CLOSED_STORES.has(error.code) && mayRepeat ? pause : undefined;
}

/** Wait; reject with the signal's reason when it is aborted. */
export function sleep(seconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", end);
      resolve();
    }, seconds * 1000);
    if (signal?.aborted) end();
    else signal?.addEventListener("abort", end, { once: true });
  });
}
