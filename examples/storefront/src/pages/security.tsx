// How the customer signs in: password and two factors.

import { useState } from "preact/hooks";
import { explained } from "../api/explained";
import { request, useRead } from "../api/requests";
import { isSignedIn } from "../api/session";
import { count } from "../format";
import {
  AccountDocument,
  BeginTwoFactorDocument,
  ChangePasswordDocument,
  ConfirmTwoFactorDocument,
  DisableTwoFactorDocument,
  type BeginTwoFactorMutation,
} from "../generated";
import { Alert, Button, Field, Form, useAction } from "../ui/form";
import { Loaded } from "../ui/page";
import { AccountPage } from "./account";

const ENROLMENT = explained({
  two_factor_on: "A verificação em duas etapas já está ativada.",
  two_factor_not_begun: "Comece a ativação de novo.",
});
const focus = (element: HTMLElement | null) => element?.focus();

export function Security() {
  const read = useRead(AccountDocument, isSignedIn.value ? {} : null);
  const [enrolment, setEnrolment] = useState<BeginTwoFactorMutation["two_factor_begin"]>();
  const [codes, setCodes] = useState<string[]>();
  const begin = useAction(async () => setEnrolment((await request(BeginTwoFactorDocument, {}).catch(ENROLMENT)).two_factor_begin));
  async function confirm({ code = "" }: Record<string, string>) {
    setCodes((await request(ConfirmTwoFactorDocument, { code }).catch(ENROLMENT)).two_factor_confirm.recovery_codes);
    setEnrolment(undefined);
    await read.reload();
  }
  async function disable({ password = "", code = "" }: Record<string, string>) {
    await request(DisableTwoFactorDocument, { password, code });
    setCodes(undefined);
    await read.reload();
  }
  return (
    <AccountPage name="Segurança">
      <h2>Senha</h2>
      <Password />
      <h2>Verificação em duas etapas</h2>
      <Loaded read={read}>
        {({ two_factor }) =>
          enrolment ? (
            <Enrolment enrolment={enrolment} confirm={confirm} />
          ) : two_factor?.enabled ? (
            <>
              <p role="status">Ativada. Restam {count(two_factor.recovery_codes_left, "código", "códigos")} de recuperação.</p>
              {codes && <RecoveryCodes codes={codes} />}
              <details class="account">
                <summary>Desativar</summary>
                <Form label="Desativar" submit={disable}>
                  {(fields) => (
                    <>
                      <Field name="password" label="Senha" type="password" autoComplete="current-password" error={fields.password} />
                      <Field name="code" label="Código do aplicativo" inputMode="numeric" autoComplete="one-time-code" error={fields.code} />
                    </>
                  )}
                </Form>
              </details>
            </>
          ) : (
            <>
              <p>Além da senha, a loja pede um código do seu celular para entrar.</p>
              <Button class="primary" isOff={begin.isBusy} onClick={() => void begin.run()}>Ativar</Button>
              <Alert refusal={begin.refusal} />
            </>
          )
        }
      </Loaded>
    </AccountPage>
  );
}

function Password() {
  const [isDone, setDone] = useState(false);
  if (isDone) return <p role="status" class="done" tabIndex={-1} ref={focus}>Senha trocada. Nos outros aparelhos, entre de novo.</p>;
  async function submit({ current_password = "", new_password = "" }: Record<string, string>) {
    await request(ChangePasswordDocument, { current_password, new_password });
    setDone(true);
  }
  return (
    <details class="account">
      <summary>Trocar a senha</summary>
      <Form label="Trocar senha" submit={submit}>
        {(fields) => (
          <>
            <Field name="current_password" label="Senha atual" type="password" autoComplete="current-password" error={fields.current_password} />
            <Field name="new_password" label="Nova senha" type="password" autoComplete="new-password" hint="Pelo menos 8 caracteres." error={fields.new_password} />
          </>
        )}
      </Form>
    </details>
  );
}

interface EnrolmentProps {
  enrolment: BeginTwoFactorMutation["two_factor_begin"];
  confirm: (values: Record<string, string>) => Promise<void>;
}

function Enrolment({ enrolment, confirm }: EnrolmentProps) {
  return (
    <>
      <p>Leia o código com o seu aplicativo autenticador, ou abra-o neste aparelho, e digite os seis números que ele mostra.</p>
      <img src={`data:image/svg+xml,${encodeURIComponent(enrolment.qr_svg)}`} alt="QR code para o aplicativo autenticador" width="200" height="200" />
      <p>
        <a href={enrolment.otpauth_uri} target="_self">Abrir no aplicativo</a>
      </p>
      <p class="quiet">
        Ou digite a chave: <code id="secret">{enrolment.secret}</code>
      </p>
      <Form label="Confirmar" submit={confirm}>
        {(fields) => <Field name="code" label="Código do aplicativo" inputMode="numeric" autoComplete="one-time-code" error={fields.code} />}
      </Form>
    </>
  );
}

function RecoveryCodes({ codes }: { codes: string[] }) {
  return (
    <section class="warning" tabIndex={-1} ref={focus}>
      <h3>Guarde estes códigos</h3>
      <p>Cada um vale uma vez, se você ficar sem o aplicativo. Eles não serão mostrados de novo.</p>
      <ul class="codes">{codes.map((code) => <li key={code}><code>{code}</code></li>)}</ul>
    </section>
  );
}
