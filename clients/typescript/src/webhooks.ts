// Verify webhook deliveries by their `webhook-signature` (docs/reference/shared.md#webhook-signatures).
import { WebhookRejected } from "./errors.js";

/** The body of a delivery. `sequence` counts the events of one subject; `id` is the same at every attempt. */
export interface WebhookEvent {
  id: string;
  event: string;
  timestamp: string;
  tenant_id: string;
  app_id: string;
  sequence: number;
  data: Record<string, unknown>;
  signature: string;
}

type ReceivedHeaders = Headers | Readonly<Record<string, string | readonly string[] | undefined>>;

/**
 * Return the event of a delivery that was signed with one of the secrets within the tolerance, in seconds; throw `WebhookRejected`.
 *
 * `body` are the bytes, or the text, as received, before anything parses them. `now` are Unix seconds.
 */
export async function verifyWebhook(
  body: Uint8Array<ArrayBuffer> | string,
  headers: ReceivedHeaders,
  secrets: string | readonly string[],
  { tolerance = 300, now = Date.now() / 1000 }: { tolerance?: number; now?: number } = {},
): Promise<WebhookEvent> {
  const sent = lowerCase(headers);
  const timestamp = sent.get("webhook-timestamp") ?? "";
  if (!/^[0-9]{1,15}$/.test(timestamp)) throw new WebhookRejected("the header webhook-timestamp is missing or not a number");
  if (Math.abs(now - Number(timestamp)) > tolerance)
    throw new WebhookRejected(`the delivery was signed at ${timestamp}, more than ${tolerance} s from now`);
  const encoder = new TextEncoder();
  const bytes = typeof body === "string" ? encoder.encode(body) : body;
  const prefix = encoder.encode(`${sent.get("webhook-id") ?? ""}.${timestamp}.`);
  const signed = new Uint8Array(prefix.length + bytes.length);
  signed.set(prefix);
  signed.set(bytes, prefix.length);
  const signatures = (sent.get("webhook-signature") ?? "").split(/\s+/).flatMap(decode);
  for (const secret of typeof secrets === "string" ? [secrets] : secrets) {
    const key = await crypto.subtle.importKey("raw", encoder.encode(secret), { name: "HMAC", hash: "SHA-256" }, false, ["verify"]);
    for (const signature of signatures)
      // Compares in constant time.
      if (await crypto.subtle.verify("HMAC", key, signature, signed)) return JSON.parse(new TextDecoder().decode(bytes)) as WebhookEvent;
  }
  throw new WebhookRejected("no signature of the delivery is right");
}

function lowerCase(headers: ReceivedHeaders): Map<string, string> {
  const entries = headers instanceof Headers ? [...headers] : Object.entries(headers);
  return new Map(entries.map(([name, value]) => [name.toLowerCase(), String(value)]));
}

function decode(signature: string): Uint8Array<ArrayBuffer>[] {
  if (!/^v1,[A-Za-z0-9+/]{43}=$/.test(signature)) return [];
  return [Uint8Array.from(atob(signature.slice(3)), (character) => character.charCodeAt(0))];
}
