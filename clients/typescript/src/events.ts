// Follow the event feed (docs/clients.md): pages up to its end, then a stream, or pauses where streams don't pass.
import { AppTokens } from "./credentials.js";
import { execute } from "./graphql.js";
import { messages, pauseAfterOutage, RECONNECTION_SECONDS } from "./streams.js";
import { sleep, type Transport } from "./transport.js";

const PATH = "/api/admin/events";
const PAGE_SIZE = 500;
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
        pause = pauseAfterOutage(error, this.outages++);
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
    const { signal, types, idleSeconds } = this.options;
    const headers = { Accept: "text/event-stream", "Last-Event-ID": this.cursor };
    const request = { method: "GET", path: PATH, query: { types: types?.join(",") }, headers };
    const onOpen = () => void this.emptyStreams++;
    const onBytes = () => void (this.emptyStreams = 0);
    for await (const { id, name, data } of messages(this.transport, request, { signal, idleSeconds, onOpen, onBytes })) {
      if (name === "end") return; // the next page has its reason as an error
      if (data) yield JSON.parse(data) as FeedEvent;
      this.cursor = id || this.cursor;
    }
  }
}

interface EventsData {
  events: { edges: { node: FeedEvent }[]; page_info: { has_next_page: boolean; end_cursor: string } };
}
