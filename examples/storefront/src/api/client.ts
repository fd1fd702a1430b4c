// The GraphQL client. Catalogue reads of visitors are persisted queries by GET, which the browser caches and revalidates by ETag.

import { Client, fetchExchange, type CombinedError } from "@urql/core";
import { authExchange } from "@urql/exchange-auth";
import { persistedExchange } from "@urql/exchange-persisted";
import { config } from "../config";
import { RefreshSessionDocument } from "../generated";
import { accessToken, alone, forgetTokens, isRefreshDue, isSignedIn, keepTokens, refreshToken } from "./session";

const CATALOGUE = /^\s*query (Menu|Home|CategoryPage|CollectionPage|VendorPage|SearchPage|ProductPage|ProductPrice|ContentPage)\b/;
const REPEATS = 2;
const LONGEST_WAIT_SECONDS = 5;

const isUnauthenticated = (error: CombinedError) =>
  error.graphQLErrors.some(({ extensions }) => extensions.code === "UNAUTHENTICATED");

export const client = new Client({
  url: config.endpoint,
  fetch: fetchPatiently,
  preferGetMethod: false,
  exchanges: [
    authExchange(async ({ appendHeaders, mutate }) => ({
      addAuthToOperation(operation) {
        const token = accessToken();
        const headers = { "X-API-Key": config.key, ...(token && { Authorization: `Bearer ${token}` }) };
        return appendHeaders(operation, headers);
      },
      willAuthError: isRefreshDue,
      didAuthError: (error) => isSignedIn.value && isUnauthenticated(error),
      refreshAuth: () =>
        alone(async () => {
          // The newest one: another tab may have refreshed meanwhile.
          const token = refreshToken();
          if (token === null) return forgetTokens();
          const { data, error } = await mutate(String(RefreshSessionDocument), { refresh_token: token });
          if (data?.session_refresh) keepTokens(data.session_refresh);
          else if (error && isUnauthenticated(error)) forgetTokens();
          else throw error;
        }),
    })),
    persistedExchange({ preferGetForPersistedQueries: true, generateHash: hashCatalogue }),
    fetchExchange,
  ],
});

/** Return the SHA-256 of a read of the catalogue; the empty text sends an operation by POST. */
async function hashCatalogue(text: string): Promise<string> {
  // Pages that come by http from another machine have no crypto.subtle.
  if (isSignedIn.value || !CATALOGUE.test(text) || !globalThis.crypto?.subtle) return "";
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Send a request again that was limited or found the store busy, if it can't take effect twice. */
async function fetchPatiently(input: RequestInfo | URL, init: RequestInit = {}): Promise<Response> {
  const isRepeatable = init.method === "GET" || new Headers(init.headers).has("Idempotency-Key");
  for (let repeat = 0; ; repeat++) {
    const response = await fetch(input, init);
    const wait = Number(response.headers.get("Retry-After") ?? 1);
    const isBusy = response.status === 429 || response.status === 503;
    if (!isBusy || !isRepeatable || repeat === REPEATS || wait > LONGEST_WAIT_SECONDS) return asGraphQL(response);
    await new Promise((resolve) => setTimeout(resolve, wait * 1000));
  }
}

/** Give a refusal from before GraphQL ran, `{error, message, status}`, the form of GraphQL's. */
async function asGraphQL(response: Response): Promise<Response> {
  if (response.ok) return response;
  const body = await response.json().catch(() => ({}));
  const code = response.status === 429 ? "RATE_LIMITED" : body.error === "tenant_maintenance" ? "TENANT_CLOSED" : "UNAVAILABLE";
  const errors = body.errors ?? [{ message: body.message ?? response.statusText, extensions: { code } }];
  return Response.json({ ...body, errors }, { status: response.status });
}
