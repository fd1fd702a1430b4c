// Sign-in with its second step, sign-up, and what the shop mails: confirmations and new passwords.

import { useEffect, useState } from "preact/hooks";
import { mergeCart } from "../api/cart";
import { explained } from "../api/explained";
import { request } from "../api/requests";
import { isSignedIn, keepTokens, type Tokens } from "../api/session";
import { Refusal } from "../api/errors";
import {
  ForgotPasswordDocument,
  ResendConfirmationDocument,
  ResetPasswordDocument,
  SignInDocument,
  SignInVerifyDocument,
  SignUpDocument,
  VerifyEmailDocument,
} from "../generated";
import { navigate, place, Title } from "../router";
import { Alert, Button, Field, Form, useAction } from "../ui/form";
import { ConfirmDeletion } from "./profile";
import { WRONG_TOKEN } from "./tokens";

const WRONG_PASSWORD = {
  UNAUTHENTICATED: "E-mail ou senha incorretos.",
  VALIDATION_FAILED: "Preencha o e-mail e a senha.",
  FORBIDDEN: "Confirme seu e-mail antes de entrar: enviamos um código para ele.",
};
const WRONG_CODE = { UNAUTHENTICATED: "O código não confere ou expirou.", VALIDATION_FAILED: "Digite o código." };

/** Keep the session and the cart, and return to the page that asked for it: a path of this shop. */
async function enter(tokens: Tokens): Promise<void> {
  keepTokens(tokens);
  await mergeCart();
  const back = place.value.searchParams.get("voltar") ?? "";
  navigate(/^\/(?!\/)/.test(back) ? back : "/conta");
}

export function SignIn() {
  const [temporary, setTemporary] = useState<string>();
  if (temporary !== undefined) return <SecondStep token={temporary} />;
  async function submit({ identifier = "", password = "" }: Record<string, string>) {
    const { sign_in } = await request(SignInDocument, { identifier, password }).catch(explained(WRONG_PASSWORD));
    if (sign_in.requires_2fa) setTemporary(sign_in.temp_token!);
    else await enter(sign_in as Tokens);
  }
  return (
    <div class="narrow">
      <Title name="Entrar">Entrar</Title>
      <Form label="Entrar" submit={submit}>
        {(fields) => (
          <>
            <Field name="identifier" label="E-mail, CPF ou telefone" autoComplete="username" error={fields.identifier} />
            <Field name="password" label="Senha" type="password" autoComplete="current-password" error={fields.password} />
          </>
        )}
      </Form>
      <p><a href="/senha">Esqueci minha senha</a></p>
      <p>Primeira compra? <a href={`/criar-conta${place.value.search}`}>Criar conta</a></p>
    </div>
  );
}

function SecondStep({ token }: { token: string }) {
  async function submit({ code = "" }: Record<string, string>) {
    const { sign_in_verify } = await request(SignInVerifyDocument, { temp_token: token, code }).catch(explained(WRONG_CODE));
    await enter(sign_in_verify);
  }
  return (
    <div class="narrow" key="second">
      <StepTitle>Verificação em duas etapas</StepTitle>
      <Form label="Confirmar" submit={submit}>
        {(fields) => (
          <Field
            name="code"
            label="Código do aplicativo"
            hint="Ou um dos seus códigos de recuperação."
            autoComplete="one-time-code"
            inputMode="numeric"
            error={fields.code}
          />
        )}
      </Form>
    </div>
  );
}

const focus = (element: HTMLElement | null) => element?.focus();

/** The heading of a step that replaces another one without a new address. */
function StepTitle({ children }: { children: string }) {
  return (
    <h1 tabIndex={-1} ref={focus}>
      {children}
    </h1>
  );
}

export function SignUp() {
  const [email, setEmail] = useState<string>();
  if (email !== undefined) return <CheckMail email={email} />;
  async function submit({ name = "", email = "", password = "" }: Record<string, string>) {
    await request(SignUpDocument, { input: { name, email, password } });
    setEmail(email);
  }
  return (
    <div class="narrow">
      <Title name="Criar conta">Criar conta</Title>
      <Form label="Criar conta" submit={submit}>
        {(fields) => (
          <>
            <Field name="name" label="Nome completo" autoComplete="name" error={fields.name} />
            <Field name="email" label="E-mail" type="email" autoComplete="email" error={fields.email} />
            <Field name="password" label="Senha" type="password" autoComplete="new-password" hint="Pelo menos 8 caracteres." error={fields.password} />
          </>
        )}
      </Form>
      <p>Já tem conta? <a href={`/entrar${place.value.search}`}>Entrar</a></p>
    </div>
  );
}

function CheckMail({ email }: { email: string }) {
  const { run, refusal, isBusy } = useAction(async () => void (await request(ResendConfirmationDocument, { email })));
  return (
    <div class="narrow" key="mail">
      <StepTitle>Confirme seu e-mail</StepTitle>
      <p>Enviamos uma mensagem para <strong>{email}</strong>. Abra o link dela, ou digite aqui o código que ela traz.</p>
      <Confirmation />
      <p>
        Não chegou? <Button class="plain" isOff={isBusy} onClick={() => void run()}>Enviar de novo</Button>
      </p>
      <Alert refusal={refusal} />
    </div>
  );
}

function Confirmation() {
  const [isConfirmed, setConfirmed] = useState(false);
  if (isConfirmed) return <Confirmed />;
  return (
    <Form
      label="Confirmar e-mail"
      submit={async ({ token = "" }) => {
        await request(VerifyEmailDocument, { token }).catch(explained(WRONG_TOKEN));
        setConfirmed(true);
      }}
    >
      {(fields) => <Field name="token" label="Código" autoComplete="one-time-code" error={fields.token} />}
    </Form>
  );
}

function Confirmed() {
  return (
    <p role="status" class="done">
      E-mail confirmado. {isSignedIn.value ? <a href="/conta/dados">Ver meus dados</a> : <a href={`/entrar${place.value.search}`}>Entrar</a>}
    </p>
  );
}

/**
 * The page that mails link to (the store setting `account_url`), with `#email_verification`, `#email_change`, `#password_reset` or
 * `#account_deletion`, each `=<token>`.
 */
export function MailedCode() {
  const [mailed] = useState(() => new URLSearchParams(place.value.hash.slice(1)));
  const token = mailed.get("email_verification") ?? mailed.get("email_change");
  const { run, refusal } = useAction(async () => {
    await request(VerifyEmailDocument, { token: token! }).catch(explained(WRONG_TOKEN));
    setConfirmed(true);
  });
  const [isConfirmed, setConfirmed] = useState(false);
  useEffect(() => {
    // Tokens don't stay in the history.
    navigate(place.value.pathname, true);
    if (token) void run();
  }, []);
  if (mailed.has("password_reset")) return <NewPassword token={mailed.get("password_reset")!} />;
  if (mailed.has("account_deletion")) return <DeletionByMail token={mailed.get("account_deletion")!} />;
  return (
    <div class="narrow">
      <Title name="Confirmar e-mail">Confirmar e-mail</Title>
      {isConfirmed ? <Confirmed /> : token && !refusal ? <p role="status">Confirmando…</p> : <Confirmation />}
      <Alert refusal={refusal} />
    </div>
  );
}

function DeletionByMail({ token }: { token: string }) {
  return (
    <div class="narrow">
      <Title name="Excluir a conta">Excluir a conta</Title>
      {isSignedIn.value ? (
        <ConfirmDeletion token={token} />
      ) : (
        <p><a href="/entrar?voltar=/conta/dados">Entre na sua conta</a>, e abra de novo o link do e-mail.</p>
      )}
    </div>
  );
}

export function ForgottenPassword() {
  const [isSent, setSent] = useState(false);
  if (isSent) return <NewPassword />;
  return (
    <div class="narrow">
      <Title name="Nova senha">Esqueci minha senha</Title>
      <Form
        label="Enviar código"
        submit={async ({ email = "" }) => {
          await request(ForgotPasswordDocument, { email });
          setSent(true);
        }}
      >
        {(fields) => <Field name="email" label="E-mail" type="email" autoComplete="email" error={fields.email} />}
      </Form>
    </div>
  );
}

function NewPassword({ token: mailed }: { token?: string }) {
  const [isDone, setDone] = useState(false);
  async function submit({ token = mailed ?? "", password = "" }: Record<string, string>) {
    // Only a refused token has no field: a refused password is shown at its input.
    await request(ResetPasswordDocument, { token, password }).catch((error: unknown) => {
      throw error instanceof Refusal && !error.fields.password ? error.explain(WRONG_TOKEN) : error;
    });
    setDone(true);
  }
  return (
    <div class="narrow" key="password">
      <StepTitle>Escolha uma nova senha</StepTitle>
      {isDone ? (
        <p role="status" class="done">Senha trocada. <a href="/entrar">Entrar</a></p>
      ) : (
        <>
          {!mailed && <p>Se houver uma conta com este e-mail, enviamos uma mensagem com um código.</p>}
          <Form label="Trocar senha" submit={submit}>
            {(fields) => (
              <>
                {!mailed && <Field name="token" label="Código" autoComplete="one-time-code" error={fields.token} />}
                <Field name="password" label="Nova senha" type="password" autoComplete="new-password" hint="Pelo menos 8 caracteres." error={fields.password} />
              </>
            )}
          </Form>
        </>
      )}
    </div>
  );
}
