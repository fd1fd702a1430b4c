// The session of this browser. The access token is in this module's memory alone; the refresh token is in a cookie that scripts can't
// read, and is exchanged at /api/v1/auth/browser-session (docs/reference/current.md#browser-sessions).
import { storeHeaders } from "../config";
import { reach, statusError } from "./errors";

const PATH = "/api/v1/auth/browser-session";
// An access token is renewed this long before it ends.
const MARGIN_MS = 20_000;

interface Access {
  token: string;
  expiresAt: number;
}

let access: Access | null = null;
let renewing: Promise<Access | null> | null = null;
const channel = new BroadcastChannel("vitrine.session");
// What ended a session: a sign-out here or in another tab, or the server, which refuses its token.
export type Ending = "signed_out" | "expired";
const listeners = new Set<(ending: Ending) => void>();

channel.addEventListener("message", () => end("signed_out"));

export async function accessToken(): Promise<string | null> {
  if (access && access.expiresAt - Date.now() > MARGIN_MS) return access.token;
  // One renewal at a time in all tabs: a refresh token is valid once.
  renewing ??= locked(() => exchange()).finally(() => {
    renewing = null;
  });
  return (await renewing)?.token ?? null;
}

// Begins the session of a refresh token, which becomes the cookie's.
export async function begin(refreshToken: string): Promise<void> {
  if ((await locked(() => exchange(refreshToken))) === null) throw new Error("UNAUTHENTICATED");
}

// Rejects where the server didn't end it: its cookie would begin it again.
export async function signOut(): Promise<void> {
  const response = await request("DELETE");
  if (!response.ok) throw statusError(response.status);
  leave();
}

// In all tabs, whatever the server says.
export function leave(): void {
  channel.postMessage("ended");
  end("signed_out");
}

// The server ended it: elsewhere, by a new password, or because its time is over.
export function expire(): void {
  end("expired");
}

export function forgetAccess(): void {
  access = null;
}

export function onEnd(listener: (ending: Ending) => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function end(ending: Ending): void {
  access = null;
  for (const listener of listeners) listener(ending);
}

async function exchange(refreshToken?: string): Promise<Access | null> {
  const response = await request("POST", refreshToken ? { refresh_token: refreshToken } : undefined);
  if (response.status === 429 || response.status >= 500) throw statusError(response.status);
  if (response.status !== 200) {
    access = null;
    return null;
  }
  const pair = (await response.json()) as { access_token: string | null; expires_at: string };
  if (pair.access_token === null) return null;
  access = { token: pair.access_token, expiresAt: Date.parse(pair.expires_at) };
  return access;
}

function request(method: string, body?: object): Promise<Response> {
  const headers = { ...storeHeaders(), "Content-Type": "application/json" };
  return reach(PATH, { method, headers, ...(body ? { body: JSON.stringify(body) } : {}) });
}

async function locked<T>(work: () => Promise<T>): Promise<T> {
  // Only pages of TLS and of this machine have locks.
  return "locks" in navigator ? ((await navigator.locks.request("vitrine.session", work)) as T) : work();
}
