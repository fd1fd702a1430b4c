// Follow the event feed (docs/clients.md): pages up to its end, then a stream, or pauses where streams don't pass.
import { AppTokens } from "./credentials.js";
import { ApiError, ConnectionFailed } from "./errors.js";
import { execute } from "./graphql.js";
import { sleep, type Transport } from "./transport.js";

const PATH = "/api/admin/events";
const PAGE_SIZE = 500;
const RECONNECTION_SECONDS = 1;
const LONGEST_PAUSE_SECONDS = 60;
// Streams that bring nothing before pages are read instead, and after how many rounds a stream is tried again.
const TRIED_STREAMS = 3;
const POLLS_UNTIL_STREAM = 60;

const DOCUMENT = `query Events($after: String, $types: [String!], $first: Int!) {
  events(after: $after, types: $types, first: $first) {
    edges { node { id event timestamp: created_at tenant_id subject_type subject_id sequence data cursor } }
    page_info { has_next_page end_cursor }
  }
}`;

/** An event of the feed. `cursor` continues after it; `sequence` counts the events of one subject from 1. */
export interface FeedEvent {
  id: string;
  event: string;
  timestamp: string;
  tenant_id: string;
  subject_type: string;
  subject_id: string;
  sequence: number;
  data: Record<string, unknown>;
  cursor: string;
}

export interface FeedOptions {
  /** A cursor, `oldest` or `latest` (default). */
  after?: string | undefined;
  types?: readonly string[] | undefined;
  pollSeconds?: number | undefined;
  /** After how long without a byte, heartbeats included, a stream counts as broken. */
  idleSeconds?: number | undefined;
  signal?: AbortSignal | undefined;
}

interface Page {
  events: FeedEvent[];
  cursor: string;
  has_more: boolean;
}

/** A message of an event stream; without `data` it only says how far the stream has come. */
interface Message {
  id: string;
  name: string;
  data: string;
}

/** Split an event stream into messages (HTML standard, section 9.2.6). */
class StreamParser {
  private rest = "";
  private id = "";
  private name = "";
  private data: string[] = [];

  *feed(text: string): Generator<Message, void, undefined> {
    const lines = (this.rest + text).replaceAll("\r\n", "\n").split("\n");
    this.rest = lines.pop() ?? "";
    for (const line of lines) {
      if (line === "") {
        yield { id: this.id, name: this.name, data: this.data.join("\n") };
        [this.name, this.data] = ["", []];
        continue;
      }
      const [, name, value = ""] = /^([^:]*)(?:: ?(.*))?$/su.exec(line) ?? [];
      if (name === "data") this.data.push(value);
      else if (name === "event") this.name = value;
      else if (name === "id" && !value.includes("\0")) this.id = value;
    }
  }
}

/** The events after a cursor, which moves with each event that is yielded. */
export class EventFeed {
  private cursor: string;
  private emptyStreams = 0;
  private outages = 0;
  private readonly isApp: boolean;

  constructor(
    private readonly transport: Transport,
    private readonly options: FeedOptions,
  ) {
    this.cursor = options.after ?? "latest";
    this.isApp = transport.credential instanceof AppTokens;
  }

  /** Yield events without end. */
  async *follow(): AsyncGenerator<FeedEvent, void, undefined> {
    for (let polls = 1; ; polls++) {
      const mayStream = this.isApp && (this.emptyStreams < TRIED_STREAMS || polls % POLLS_UNTIL_STREAM === 0);
      let pause = mayStream ? 0 : (this.options.pollSeconds ?? 5);
      try {
        for await (const event of this.round(mayStream)) {
          this.cursor = event.cursor;
          yield event;
        }
      } catch (error) {
        const isPassing = error instanceof ConnectionFailed || (error instanceof ApiError && error.isPassing);
        if (!isPassing) throw error;
        const backoff = Math.min(LONGEST_PAUSE_SECONDS, 2 ** this.outages++);
        pause = (error instanceof ApiError ? error.retryAfter : undefined) ?? backoff;
      }
      await sleep(pause + Math.random() * RECONNECTION_SECONDS, this.options.signal);
    }
  }

  /** Yield what there is up to the end of the feed, and then, if it may, what a stream brings. */
  private async *round(mayStream: boolean): AsyncGenerator<FeedEvent, void, undefined> {
    for (let hasMore = true; hasMore; ) {
      const { events, cursor, has_more } = await this.page();
      this.outages = 0;
      yield* events;
      this.cursor = cursor;
      hasMore = has_more;
    }
    if (mayStream) yield* this.stream();
  }

  private async page(): Promise<Page> {
    const { signal, types } = this.options;
    if (!this.isApp) {
      const variables = { after: this.cursor, types, first: PAGE_SIZE };
      const { events } = await execute<EventsData, typeof variables>(this.transport, DOCUMENT, variables, { signal });
      const { end_cursor: cursor, has_next_page: has_more } = events.page_info;
      return { events: events.edges.map(({ node }) => node), cursor, has_more };
    }
    const query = { types: types?.join(","), after: this.cursor, limit: PAGE_SIZE };
    return (await this.transport.send({ method: "GET", path: PATH, query, signal })).body as Page;
  }

  /** Yield events until the stream ends: the connection or the credential did, or the server stopped. */
  private async *stream(): AsyncGenerator<FeedEvent, void, undefined> {
    const { signal, types, idleSeconds = 60 } = this.options;
    const headers = { Accept: "text/event-stream", "Last-Event-ID": this.cursor };
    const idle = new AbortController();
    const abort = () => idle.abort(signal?.reason);
    let timer = setTimeout(() => idle.abort(), idleSeconds * 1000);
    signal?.addEventListener("abort", abort);
    try {
      const query = { types: types?.join(",") };
      const response = await this.transport.stream({ method: "GET", path: PATH, query, headers, signal: idle.signal });
      this.emptyStreams++;
      // Otherwise something between the two does not let streams pass.
      if (!response.headers.get("Content-Type")?.startsWith("text/event-stream") || response.body === null) return;
      const parser = new StreamParser();
      const decoder = new TextDecoder();
      const reader = response.body.getReader();
      for (let read = await reader.read(); !read.done; read = await reader.read()) {
        this.emptyStreams = 0;
        clearTimeout(timer);
        timer = setTimeout(() => idle.abort(), idleSeconds * 1000);
        for (const { id, name, data } of parser.feed(decoder.decode(read.value, { stream: true }))) {
          if (name === "end") return; // the next page has its reason as an error
          if (data) yield JSON.parse(data) as FeedEvent;
          this.cursor = id || this.cursor;
        }
      }
    } catch (error) {
      if (error instanceof ApiError || error instanceof SyntaxError) throw error;
      signal?.throwIfAborted(); // otherwise the connection ended
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener("abort", abort);
      idle.abort();
    }
  }
}

interface EventsData {
  events: { edges: { node: FeedEvent }[]; page_info: { has_next_page: boolean; end_cursor: string } };
}
