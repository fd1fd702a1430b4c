// The session of this browser. The access token is in this module's memory alone; the refresh token is in a cookie that scripts can't
// read, and is exchanged at /api/v1/auth/browser-session (docs/reference/current.md#browser-sessions).
import { config, storeHeaders } from "../config";
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
// Whose session this page has.
let user: string | null = null;
// Whether the browser's session is another user's now: this page has none until its user signs in again.
let isReplaced = false;
// Where stores share the address, each has a session of its own.
const SESSION = `vitrine.session.${config.store}`;
const channel = new BroadcastChannel(SESSION);
// What ended a session: a sign-out here or in another tab, the server, which refuses its token, or the sign-in of another user in another tab.
export type Ending = "signed_out" | "expired" | "replaced";
const listeners = new Set<(ending: Ending) => void>();

channel.addEventListener("message", () => end("signed_out"));

export async function accessToken(): Promise<string | null> {
  if (isReplaced) return null;
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
  end(isReplaced ? "replaced" : "expired");
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
  if (ending === "signed_out") {
    user = null;
    isReplaced = false;
  }
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
  const owner = userOf(pair.access_token);
  // The cookie is of who signed in last: what was typed here isn't theirs to save.
  if (!refreshToken && user !== null && user !== owner) {
    isReplaced = true;
    end("replaced");
    throw statusError(401);
  }
  user = owner;
  isReplaced = false;
  access = { token: pair.access_token, expiresAt: Date.parse(pair.expires_at) };
  return access;
}

// The subject of a JSON Web Token.
function userOf(token: string): string {
  const claims = (token.split(".")[1] ?? "").replaceAll("-", "+").replaceAll("_", "/");
  return (JSON.parse(atob(claims)) as { sub: string }).sub;
}

function request(method: string, body?: object): Promise<Response> {
  const headers = { ...storeHeaders(), "Content-Type": "application/json" };
  return reach(PATH, { method, headers, ...(body ? { body: JSON.stringify(body) } : {}) });
}

async function locked<T>(work: () => Promise<T>): Promise<T> {
  // Only pages of TLS and of this machine have locks.
  return "locks" in navigator ? ((await navigator.locks.request(SESSION, work)) as T) : work();
}
