// The events of the store as they happen, over a WebSocket. A connection that is lost is opened again, later each time, and continues after
// the last event that arrived (docs/reference/graphql.md#subscriptions).
import { createClient } from "graphql-ws";
import { storeHeaders } from "../config";
import { OfficeEventsDocument, type OfficeEventsSubscription } from "../generated";
import { accessToken, forgetAccess } from "../graphql/session";

export type Arrived = NonNullable<OfficeEventsSubscription["events"]>;

const CREDENTIAL_ENDED = 4403;
const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 30_000;

// Half of a wait is random, so that the pages of a store don't all come back at once.
const wait = (retries: number) => {
  const longest = Math.min(FIRST_WAIT_MS * 2 ** retries, LONGEST_WAIT_MS);
  return new Promise<void>((resolve) => setTimeout(resolve, longest / 2 + Math.random() * (longest / 2)));
};

// Returns what ends the connection. `onGap` is called when events may have been missed.
export function follow(types: readonly string[], onEvent: (event: Arrived) => void, onGap: () => void): () => void {
  const variables: { after: string | null; types: string[] } = { after: null, types: [...types] };
  const client = createClient({
    url: `${location.origin.replace(/^http/, "ws")}/graphql`,
    // Without a token the server closes the connection, which is opened again; a failure here would be the last attempt.
    connectionParams: async () => ({ ...storeHeaders(), Authorization: `Bearer ${(await accessToken().catch(() => null)) ?? ""}` }),
    retryAttempts: Number.POSITIVE_INFINITY,
    retryWait: wait,
    shouldRetry: () => true,
    on: {
      closed: (event) => {
        if ((event as CloseEvent).code === CREDENTIAL_ENDED) forgetAccess();
      },
      connected: (_socket, _payload, wasRetrying) => {
        if (wasRetrying && variables.after === null) onGap();
      },
    },
  });
  const payload = { query: String(OfficeEventsDocument), variables };
  const end = client.subscribe<OfficeEventsSubscription>(payload, {
    next: ({ data }) => {
      if (!data?.events) return;
      variables.after = data.events.cursor;
      onEvent(data.events);
    },
    error: () => undefined,
    complete: () => undefined,
  });
  return () => {
    end();
    void client.dispose();
  };
}
