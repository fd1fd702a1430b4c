// Read Server-Sent Events as they arrive, and wait between streams.
import { ApiError, ConnectionFailed } from "./errors.js";
import type { Transport, TransportRequest } from "./transport.js";

export const RECONNECTION_SECONDS = 1;
const LONGEST_PAUSE_SECONDS = 60;
const IDLE_SECONDS = 60;

export interface StreamOptions {
  /** After how long without a byte, heartbeats included, a stream counts as broken. */
  readonly idleSeconds?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly onOpen?: () => void;
  readonly onBytes?: () => void;
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

/** Yield the messages of a stream until it or the connection ends; none where something between the two does not let streams pass. */
export async function* messages(
  transport: Transport,
  request: TransportRequest,
  { idleSeconds = IDLE_SECONDS, signal, onOpen, onBytes }: StreamOptions,
): AsyncGenerator<Message, void, undefined> {
  const idle = new AbortController();
  const abort = () => idle.abort(signal?.reason);
  let timer = setTimeout(() => idle.abort(), idleSeconds * 1000);
  signal?.addEventListener("abort", abort);
  try {
    const response = await transport.stream({ ...request, signal: idle.signal });
    onOpen?.();
    if (!response.headers.get("Content-Type")?.startsWith("text/event-stream") || response.body === null) return;
    const parser = new StreamParser();
    const decoder = new TextDecoder();
    const reader = response.body.getReader();
    for (;;) {
      let read: { done: boolean; value?: Uint8Array | undefined };
      try {
        read = await reader.read();
      } catch {
        signal?.throwIfAborted();
        return; // the connection ended
      }
      if (read.done) return;
      onBytes?.();
      clearTimeout(timer);
      timer = setTimeout(() => idle.abort(), idleSeconds * 1000);
      yield* parser.feed(decoder.decode(read.value, { stream: true }));
    }
  } catch (error) {
    if (error instanceof ApiError) throw error;
    signal?.throwIfAborted();
    // Not opened in time, or not at all: the caller waits and tries again.
    throw error instanceof ConnectionFailed ? error : new ConnectionFailed("no stream was opened", false, error);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", abort);
    idle.abort();
  }
}

/** Return how many seconds to wait after an error that passes; throw any other. */
export function pauseAfterOutage(error: unknown, outages: number): number {
  const isPassing = error instanceof ConnectionFailed || (error instanceof ApiError && error.isPassing);
  if (!isPassing) throw error;
  return (error instanceof ApiError ? error.retryAfter : undefined) ?? Math.min(LONGEST_PAUSE_SECONDS, 2 ** outages);
}
