// The customer's tokens. The access token lives in memory, the refresh token in localStorage: this shop has no server of its
// own that could keep it in a cookie. The page's Content-Security-Policy runs no script but ours.

import { signal } from "@preact/signals";

export interface Tokens {
  access_token: string;
  refresh_token: string;
  expires_at: string;
}

const STORED = "vitrine:refresh-token";
// Refresh a token that a slow request would outlive.
const MARGIN_MS = 30_000;

let access: Tokens | null = null;

export const isSignedIn = signal(refreshToken() !== null);

export function refreshToken(): string | null {
  return localStorage.getItem(STORED);
}

export const accessToken = (): string | null => access?.access_token ?? null;

/** Return whether an operation should wait for a new access token. */
export function isRefreshDue(): boolean {
  return isSignedIn.value && (access === null || Date.parse(access.expires_at) - MARGIN_MS < Date.now());
}

export function keepTokens(tokens: Tokens): void {
  access = tokens;
  localStorage.setItem(STORED, tokens.refresh_token);
  isSignedIn.value = true;
}

export function forgetTokens(): void {
  access = null;
  localStorage.removeItem(STORED);
  isSignedIn.value = false;
}

/** Run a function in one tab at a time: a refresh token that is used twice ends the session. */
export async function alone<T>(run: () => Promise<T>): Promise<T> {
  return navigator.locks ? navigator.locks.request("vitrine:refresh", run) : run();
}

// Another tab signed in or out.
addEventListener("storage", (event) => {
  if (event.key !== STORED) return;
  access = null;
  isSignedIn.value = event.newValue !== null;
});
