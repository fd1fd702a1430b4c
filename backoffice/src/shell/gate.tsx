// Who is in front of the page: no store is chosen, nobody is signed in, or a user is. A session that the server ended, or that
// another user's replaced, is begun again above the page, which keeps what was typed.
import Dialog from "@mui/material/Dialog";
import { lazy, Suspense, useEffect, useState } from "react";
import { ErrorBoundary } from "react-error-boundary";
import { config } from "../config";
import { currentSession, forget, forgetSession, loadSession, type Session } from "../data/auth";
import { onEnd } from "../graphql/session";
import { CARD_TITLE } from "./card";
import { ChooseStore } from "./choose-store";
import { Problem } from "./problem";
import { SignIn } from "./sign-in";
import { Waiting } from "./waiting";

const Office = lazy(() => import("./office"));

export function Gate() {
  const [session, setSession] = useState<Session | null | undefined>(undefined);
  const [isExpired, setExpired] = useState(false);
  const [notice, setNotice] = useState("");
  const [problem, setProblem] = useState("");

  useEffect(() => {
    if (config.isShared && !config.store) return undefined;
    loadSession().then(setSession, (error: unknown) => {
      setProblem(error instanceof Error ? error.message : String(error));
      setSession(null);
    });
    return onEnd((ending) => {
      if (ending === "signed_out") {
        forget();
        setExpired(false);
        setSession(null);
      } else {
        forgetSession();
        setNotice(`sign_in.${ending}`);
        setExpired(true);
      }
    });
  }, []);

  const begin = () => {
    const begun = currentSession();
    setExpired(false);
    // The page of another user is another one.
    if (begun?.me.id !== session?.me.id) setSession(begun);
  };

  if (config.isShared && !config.store) return <ChooseStore />;
  if (session === undefined) return <Waiting />;
  if (session === null) return <SignIn onSignedIn={begin} notice={problem} />;
  return (
    <>
      <ErrorBoundary FallbackComponent={Problem}>
        <Suspense fallback={<Waiting />}>
          <Office key={session.me.id} session={session} />
        </Suspense>
      </ErrorBoundary>
      <Dialog fullScreen open={isExpired} aria-labelledby={CARD_TITLE}>
        <SignIn onSignedIn={begin} notice={notice} />
      </Dialog>
    </>
  );
}
