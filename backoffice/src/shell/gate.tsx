// Who is in front of the page: no store is chosen, nobody is signed in, or a user is.
import { lazy, Suspense, useEffect, useState } from "react";
import { config } from "../config";
import { currentSession, forget, loadSession, type Session } from "../data/auth";
import { onEnd } from "../graphql/session";
import { ChooseStore } from "./choose-store";
import { SignIn } from "./sign-in";
import { Waiting } from "./waiting";

const Office = lazy(() => import("./office"));

export function Gate() {
  const [session, setSession] = useState<Session | null | undefined>(undefined);

  useEffect(() => {
    if (config.isShared && !config.store) return undefined;
    loadSession().then(setSession, () => setSession(null));
    // It ended in another tab, or by the sign-out here.
    return onEnd(() => {
      forget();
      setSession(null);
    });
  }, []);

  if (config.isShared && !config.store) return <ChooseStore />;
  if (session === undefined) return <Waiting />;
  if (session === null) return <SignIn onSignedIn={() => setSession(currentSession())} />;
  return (
    <Suspense fallback={<Waiting />}>
      <Office session={session} onEnd={() => setSession(null)} />
    </Suspense>
  );
}
