// Sign-in with a password, and with a code where the account has two-factor authentication.
import Alert from "@mui/material/Alert";
import Button from "@mui/material/Button";
import TextField from "@mui/material/TextField";
import { useState } from "react";
import { answerChallenge, signIn } from "../data/auth";
import { ServerError } from "../graphql/errors";
import { i18nProvider } from "../texts";
import { Card } from "./card";
import { endedByIdleness } from "./idle";

const translate = i18nProvider.translate;

interface Props {
  onSignedIn: () => void;
  // Why it is asked for, if not at the beginning.
  notice?: string;
}

export function SignIn({ onSignedIn, notice }: Props) {
  const [challenge, setChallenge] = useState<string | null>(null);
  return challenge ? (
    <Code challenge={challenge} onSignedIn={onSignedIn} onBack={() => setChallenge(null)} />
  ) : (
    <Password onSignedIn={onSignedIn} onChallenge={setChallenge} {...(notice ? { notice } : {})} />
  );
}

// Runs a step of the sign-in; what it refuses is shown.
function useStep(refusal: string) {
  const [error, setError] = useState(endedByIdleness() ? translate("sign_in.idle") : "");
  const [isBusy, setBusy] = useState(false);
  const run = async (step: () => Promise<void>) => {
    setBusy(true);
    setError("");
    try {
      await step();
    } catch (problem) {
      setError(textOf(problem, refusal));
      setBusy(false);
    }
  };
  return { error, isBusy, run };
}

function textOf(problem: unknown, refusal: string): string {
  if (!(problem instanceof ServerError)) return translate(refusal);
  if (problem.code === "not_staff") return translate("sign_in.not_staff");
  return problem.code === "UNAUTHENTICATED" || problem.code === "VALIDATION_FAILED" ? translate(refusal) : problem.message;
}

function Password({ onSignedIn, onChallenge, notice }: Props & { onChallenge: (challenge: string) => void }) {
  const [identifier, setIdentifier] = useState("");
  const [password, setPassword] = useState("");
  const { error, isBusy, run } = useStep("sign_in.refused");

  const submit = () =>
    run(async () => {
      const challenge = await signIn(identifier, password);
      if (challenge) onChallenge(challenge);
      else onSignedIn();
    });

  return (
    <Card title={translate("sign_in.title")} onSubmit={submit}>
      {notice && !error && <Alert severity="info">{translate(notice)}</Alert>}
      {error && <Alert severity="error">{error}</Alert>}
      <TextField
        label={translate("sign_in.identifier")} name="identifier" autoComplete="username" autoFocus fullWidth size="medium"
        value={identifier} onChange={(event) => setIdentifier(event.target.value)}
      />
      <TextField
        label={translate("sign_in.password")} name="password" type="password" autoComplete="current-password" fullWidth size="medium"
        value={password} onChange={(event) => setPassword(event.target.value)}
      />
      <Button type="submit" variant="contained" size="large" disabled={isBusy || !identifier || !password}>{translate("sign_in.submit")}</Button>
    </Card>
  );
}

function Code({ challenge, onSignedIn, onBack }: Props & { challenge: string; onBack: () => void }) {
  const [code, setCode] = useState("");
  const { error, isBusy, run } = useStep("sign_in.wrong_code");

  const submit = () =>
    run(async () => {
      await answerChallenge(challenge, code);
      onSignedIn();
    });

  return (
    <Card title={translate("sign_in.code_title")} onSubmit={submit}>
      {error && <Alert severity="error">{error}</Alert>}
      <TextField
        label={translate("sign_in.code")} helperText={translate("sign_in.code_help")} name="code" autoComplete="one-time-code" autoFocus fullWidth
        size="medium" value={code} onChange={(event) => setCode(event.target.value)}
      />
      <Button type="submit" variant="contained" size="large" disabled={isBusy || !code}>{translate("sign_in.submit")}</Button>
      <Button onClick={onBack}>{translate("sign_in.back")}</Button>
    </Card>
  );
}
