// Follow a GraphQL subscription over Server-Sent Events (graphql-sse, distinct connections; docs/clients.md#subscriptions).
import { findOperation } from "./documents.js";
import { errorOf, isObject } from "./errors.js";
import { type Document, execute, type ExecutionOptions, textOf } from "./graphql.js";
import { messages, pauseAfterOutage, RECONNECTION_SECONDS } from "./streams.js";
import { sleep, type Transport } from "./transport.js";

const PATH = "/graphql";
const END_OF_FEED = 'query EndOfFeed { events(after: "latest", first: 1) { page_info { end_cursor } } }';

export interface SubscriptionOptions extends Omit<ExecutionOptions, "idempotencyKey"> {
  /** After how long without a byte, heartbeats included, a stream counts as broken. */
  readonly idleSeconds?: number | undefined;
}

/** Yield the data of a subscription's results without end; `$after` moves with the `cursor` of each. */
export async function* subscribe<Result, Variables extends object>(
  transport: Transport,
  document: Document<Result, Variables>,
  variables: Variables,
  options: SubscriptionOptions,
): AsyncGenerator<Result, void, undefined> {
  const { signal, operationName, idleSeconds } = options;
  const query = textOf(document, options.print);
  if (findOperation(query, operationName)?.kind !== "subscription") throw new TypeError("the document has no such subscription");
  if (!query.includes("$after")) throw new TypeError("the document has no variable $after");
  const following = { ...variables } as Record<string, unknown>;
  for (let outages = 0; ; ) {
    let pause = 0;
    try {
      // From a cursor on nothing is lost while there is no stream yet.
      if ([undefined, null, "latest"].includes(following["after"] as string)) following["after"] = await endOfFeed(transport, signal);
      const body = { query, variables: following, operationName };
      const request = { method: "POST", path: PATH, body, headers: { Accept: "text/event-stream" } };
      let isFirst = true;
      for await (const { name, data } of messages(transport, request, { idleSeconds, signal })) {
        if (name !== "next") continue;
        const result = JSON.parse(data) as { data?: Result | null; errors?: { extensions?: { code?: string } }[] };
        if (result.errors !== undefined) {
          // The credential has ended: the next stream renews it, or has its refusal as an error.
          if (!isFirst && result.errors[0]?.extensions?.code === "UNAUTHENTICATED") break;
          throw errorOf(PATH, { status: 200, requestId: "", retryAfter: undefined }, result);
        }
        [isFirst, outages] = [false, 0];
        following["after"] = cursorOf(result.data);
        yield result.data as Result;
      }
    } catch (error) {
      pause = pauseAfterOutage(error, outages++);
    }
    await sleep(pause + Math.random() * RECONNECTION_SECONDS, signal);
  }
}

async function endOfFeed(transport: Transport, signal: AbortSignal | undefined): Promise<string> {
  const data = await execute<{ events: { page_info: { end_cursor: string } } }, object>(transport, END_OF_FEED, {}, { signal });
  return data.events.page_info.end_cursor;
}

function cursorOf(data: unknown): unknown {
  const [event] = Object.values(isObject(data) ? data : {});
  if (!isObject(event) || event["cursor"] === undefined) throw new TypeError("the subscription does not select `cursor`");
  return event["cursor"];
}
