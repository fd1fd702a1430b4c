// The customer's own data: name and telephone, e-mail address, deletion of the account.

import { useState } from "preact/hooks";
import { keepCart } from "../api/cart";
import { explained } from "../api/explained";
import { request, useRead } from "../api/requests";
import { forgetTokens, isSignedIn } from "../api/session";
import { ChangeEmailDocument, DeleteAccountDocument, ProfileDocument, UpdateProfileDocument, VerifyEmailDocument, type ProfileQuery } from "../generated";
import { navigate, Title } from "../router";
import { Field, Form } from "../ui/form";
import { Loaded } from "../ui/page";
import { AccountPage } from "./account";
import { WRONG_TOKEN } from "./tokens";

type Customer = NonNullable<ProfileQuery["me"]>;

interface PartProps {
  me: Customer;
  reload: () => Promise<void>;
}

export function Profile() {
  const read = useRead(ProfileDocument, isSignedIn.value ? {} : null);
  return (
    <AccountPage name="Meus dados">
      <Loaded read={read}>
        {({ me }) =>
          me && (
            <div class="account">
              <Data me={me} reload={read.reload} />
              <h2>E-mail</h2>
              <Email me={me} reload={read.reload} />
              <h2>Excluir a conta</h2>
              <Deletion />
            </div>
          )
        }
      </Loaded>
    </AccountPage>
  );
}

function Data({ me, reload }: PartProps) {
  const [isSaved, setSaved] = useState(false);
  async function submit({ name = "", phone = "" }: Record<string, string>) {
    setSaved(false);
    await request(UpdateProfileDocument, { id: me.id, input: { name, phone: phone || null } });
    await reload();
    setSaved(true);
  }
  return (
    <>
      <Form label="Salvar" submit={submit}>
        {(fields) => (
          <>
            <Field name="name" label="Nome completo" autoComplete="name" defaultValue={me.name} error={fields.name ?? fields.firstname} />
            <Field name="phone" label="Telefone (opcional)" type="tel" autoComplete="tel" defaultValue={me.phone ?? ""} error={fields.phone} />
          </>
        )}
      </Form>
      <p role="status" class={isSaved ? "done" : ""}>{isSaved && "Dados salvos."}</p>
      {me.cpf && <p class="quiet">CPF {me.cpf}. Para mudá-lo, fale com a loja.</p>}
    </>
  );
}

/** A new address counts once the code that it got is typed. */
function Email({ me, reload }: PartProps) {
  const [asked, setAsked] = useState<string>();
  const [isChanged, setChanged] = useState(false);
  async function ask({ password = "", new_email = "" }: Record<string, string>) {
    await request(ChangeEmailDocument, { password, new_email });
    setChanged(false);
    setAsked(new_email);
  }
  async function confirm({ token = "" }: Record<string, string>) {
    await request(VerifyEmailDocument, { token }).catch(explained(WRONG_TOKEN));
    await reload();
    setAsked(undefined);
    setChanged(true);
  }
  return (
    <>
      <p>Você entra com <strong>{me.email}</strong>.</p>
      <p role="status" class={isChanged ? "done" : ""}>{isChanged && "E-mail trocado."}</p>
      {asked ? (
        <Form key="code" label="Confirmar e-mail" submit={confirm}>
          {(fields) => (
            <>
              <p role="status">Se <strong>{asked}</strong> puder ser usado, enviamos um código para ele. Até você o digitar, vale o e-mail atual.</p>
              <Field name="token" label="Código" autoComplete="one-time-code" error={fields.token} isFocused />
            </>
          )}
        </Form>
      ) : (
        <details>
          <summary>Trocar o e-mail</summary>
          <Form key="email" label="Enviar código" submit={ask}>
            {(fields) => (
              <>
                <Field name="new_email" label="Novo e-mail" type="email" autoComplete="email" error={fields.new_email} />
                <Field name="password" label="Senha" type="password" autoComplete="current-password" error={fields.password} />
              </>
            )}
          </Form>
        </details>
      )}
    </>
  );
}

function Deletion() {
  const [isAsked, setAsked] = useState(false);
  async function ask({ password = "" }: Record<string, string>) {
    await request(DeleteAccountDocument, { password });
    setAsked(true);
  }
  return (
    <>
      <p>Seus dados pessoais são apagados, e você não pode mais entrar. A loja guarda dos pedidos o que a lei exige.</p>
      {isAsked ? (
        <>
          <p role="status">Enviamos um código para o seu e-mail. Ele vale por uma hora.</p>
          <ConfirmDeletion />
        </>
      ) : (
        <details>
          <summary>Excluir minha conta</summary>
          <Form label="Enviar código de exclusão" submit={ask}>
            {(fields) => <Field name="password" label="Senha" type="password" autoComplete="current-password" error={fields.password} />}
          </Form>
        </details>
      )}
    </>
  );
}

/** Delete the account with the code that its e-mail address got. */
export function ConfirmDeletion({ token: mailed }: { token?: string }) {
  async function submit({ token = mailed ?? "" }: Record<string, string>) {
    await request(DeleteAccountDocument, { token }).catch(explained(WRONG_TOKEN));
    navigate("/conta/excluida");
    forgetTokens();
    keepCart(null);
  }
  return (
    <Form label="Excluir definitivamente" submit={submit}>
      {(fields) => !mailed && <Field name="token" label="Código" autoComplete="one-time-code" error={fields.token} isFocused />}
    </Form>
  );
}

export function Deleted() {
  return (
    <div class="narrow">
      <Title name="Conta excluída">Conta excluída</Title>
      <p>Apagamos os seus dados. <a href="/">Voltar para o início</a></p>
    </div>
  );
}
