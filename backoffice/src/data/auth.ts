// Who is signed in, and what react-admin asks about it.
import type { AuthProvider } from "ra-core";
import { SessionDocument, SignInDocument, SignInVerifyDocument, type SessionQuery } from "../generated";
import { setStoreFormat } from "../format";
import { execute } from "../graphql/client";
import { ServerError } from "../graphql/errors";
import * as session from "../graphql/session";
import { mayAct, setPermissions } from "./permissions";

export type Session = SessionQuery & { me: NonNullable<SessionQuery["me"]>; store: NonNullable<SessionQuery["store"]> };

let loaded: Session | null = null;

export function currentSession(): Session | null {
  return loaded;
}

// The session of this browser's cookie, if there is one.
export async function loadSession(): Promise<Session | null> {
  if (loaded) return loaded;
  if ((await session.accessToken()) === null) return null;
  const answer = await execute(SessionDocument);
  if (!answer.me || !answer.store || !answer.permissions) return null;
  setPermissions(answer.permissions);
  setStoreFormat(answer.store);
  loaded = { ...answer, me: answer.me, store: answer.store };
  return loaded;
}

// Returns the challenge to answer with a code, or null once the user is signed in.
export async function signIn(identifier: string, password: string): Promise<string | null> {
  const { sign_in: answer } = await execute(SignInDocument, { identifier, password });
  if (answer?.requires_2fa) return answer.temp_token;
  await begin(answer?.refresh_token ?? "");
  return null;
}

export async function answerChallenge(temp_token: string, code: string): Promise<void> {
  const { sign_in_verify: answer } = await execute(SignInVerifyDocument, { temp_token, code });
  await begin(answer?.refresh_token ?? "");
}

async function begin(refreshToken: string): Promise<void> {
  await session.begin(refreshToken);
  const opened = await loadSession();
  if (opened?.me.role === "customer") {
    await session.signOut().finally(forget);
    throw new ServerError("not_staff", "not staff", 403);
  }
}

export async function signOut(): Promise<void> {
  await session.signOut();
  forget();
}

export function forget(): void {
  loaded = null;
  setPermissions(null);
}

// What the page shows stays until the user signs in again.
export function forgetSession(): void {
  loaded = null;
}

export const authProvider: AuthProvider = {
  login: async () => undefined,
  logout: async () => {
    if (loaded) await signOut();
  },
  checkAuth: async () => undefined,
  // A session that has ended is the gate's: signing out here would lose what was typed.
  checkError: async () => undefined,
  getPermissions: async () => loaded?.permissions?.privileges ?? [],
  getIdentity: async () => ({ id: loaded?.me.id ?? "", fullName: loaded?.me.name || (loaded?.me.email ?? "") }),
  canAccess: async ({ resource, action }) => mayAct(action, resource),
};
