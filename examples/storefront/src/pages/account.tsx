// The customer's account: its frame, orders, addresses.

import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { keepCart } from "../api/cart";
import { request, useRead } from "../api/requests";
import { addAddress } from "../api/saved-addresses";
import { forgetTokens, isSignedIn, refreshToken } from "../api/session";
import { count, date, money } from "../format";
import {
  AccountDocument,
  AddressBookDocument,
  DeleteAddressDocument,
  SetDefaultAddressDocument,
  SignOutDocument,
  UpdateAddressDocument,
  type AccountQuery,
  type AddressBookQuery,
  type SavedAddressInput,
} from "../generated";
import { config } from "../config";
import { addressLines, orderStatus } from "../orders";
import { navigate, place, Title } from "../router";
import { AddressFields } from "../ui/address";
import { Alert, Button, Form, useAction } from "../ui/form";
import { Loaded } from "../ui/page";

type Orders = NonNullable<NonNullable<AccountQuery["me"]>["orders"]>;
type Address = NonNullable<NonNullable<AddressBookQuery["me"]>["addresses"]>[number];

/** A page of the account: visitors sign in first. */
export function AccountPage({ name, children }: { name: string; children: ComponentChildren }) {
  useEffect(() => {
    if (!isSignedIn.value) navigate(`/entrar?voltar=${place.value.pathname}`, true);
  }, [isSignedIn.value]);
  const link = (href: string, label: string) => (
    <li><a href={href} aria-current={place.value.pathname === href ? "page" : undefined}>{label}</a></li>
  );
  return (
    <>
      <Title name={name}>{name}</Title>
      <nav aria-label="Minha conta">
        <ul class="tabs">
          {link("/conta", "Pedidos")}
          {link("/conta/enderecos", "Endereços")}
          {link("/conta/dados", "Dados")}
          {link("/conta/seguranca", "Segurança")}
        </ul>
      </nav>
      {isSignedIn.value && children}
    </>
  );
}

export function Account() {
  const read = useRead(AccountDocument, isSignedIn.value ? {} : null);
  const signOut = useAction(async () => {
    const token = refreshToken();
    try {
      if (token) await request(SignOutDocument, { refresh_token: token });
    } finally {
      forgetTokens();
      keepCart(null);
      navigate("/");
    }
  });
  return (
    <AccountPage name="Minha conta">
      <Loaded read={read}>
        {({ me }) =>
          me && (
            <>
              <p>
                Olá, {me.name}.{" "}
                <Button class="plain" isOff={signOut.isBusy} onClick={() => void signOut.run()}>Sair</Button>
              </p>
              {me.orders && <OrderHistory first={me.orders} />}
            </>
          )
        }
      </Loaded>
    </AccountPage>
  );
}

function OrderHistory({ first }: { first: Orders }) {
  const [later, setLater] = useState<Orders | null>(null);
  useEffect(() => setLater(null), [first]);
  const edges = [...first.edges, ...(later?.edges ?? [])];
  const { has_next_page, end_cursor } = (later ?? first).page_info;
  const { run, isBusy, refusal } = useAction(async () => {
    const page = (await request(AccountDocument, { after: end_cursor })).me?.orders;
    if (page) setLater({ ...page, edges: [...(later?.edges ?? []), ...page.edges] });
  });
  if (edges.length === 0) return <p>Você ainda não fez pedidos.</p>;
  return (
    <>
      <ul class="orders">
        {edges.map(({ node: order }) => (
          <li key={order.id}>
            <a href={`/pedido#id=${order.id}`}>Pedido {order.number}</a>
            <span class="status" data-status={order.payment_status}>{orderStatus(order)}</span>
            <small>{date(order.created_at)} · {count(order.items.length, "produto", "produtos")}</small>
            <strong>{money(order.total_cents, config.currency)}</strong>
          </li>
        ))}
      </ul>
      {has_next_page && <Button isOff={isBusy} onClick={() => void run()}>Mostrar mais pedidos</Button>}
      <Alert refusal={refusal} />
    </>
  );
}

export function Addresses() {
  const read = useRead(AddressBookDocument, isSignedIn.value ? {} : null);
  const [editing, setEditing] = useState<string>();
  return (
    <AccountPage name="Endereços">
      <Loaded read={read}>
        {({ me }) => {
          const addresses = me?.addresses ?? [];
          async function save(id: string | undefined, input: SavedAddressInput) {
            if (id) await request(UpdateAddressDocument, { id, input });
            else await addAddress(input);
            setEditing(undefined);
            await read.reload();
          }
          return (
            <>
              {addresses.length === 0 && editing === undefined && <p>Nenhum endereço salvo.</p>}
              <ul class="addresses">
                {addresses.map((address) =>
                  editing === address.id ? (
                    <li key={address.id}>
                      <AddressForm address={address} save={(input) => save(address.id, input)} cancel={() => setEditing(undefined)} />
                    </li>
                  ) : (
                    <AddressEntry key={address.id} address={address} edit={() => setEditing(address.id)} reload={read.reload} />
                  ),
                )}
              </ul>
              {editing === "new" ? (
                <AddressForm save={(input) => save(undefined, input)} cancel={() => setEditing(undefined)} />
              ) : (
                <button class="primary" onClick={() => setEditing("new")}>Novo endereço</button>
              )}
            </>
          );
        }}
      </Loaded>
    </AccountPage>
  );
}

// Refs of one identity are called once, when the element appears.
const focusInput = (element: HTMLElement | null) => element?.querySelector("input")?.focus();

function AddressForm({ address, save, cancel }: { address?: Address; save: (input: SavedAddressInput) => Promise<void>; cancel: () => void }) {
  return (
    <div ref={focusInput}>
      <Form label="Salvar endereço" submit={save}>
        {(fields) => <AddressFields address={address} fields={fields} />}
      </Form>
      <button class="plain" onClick={cancel}>Cancelar</button>
    </div>
  );
}

function AddressEntry({ address, edit, reload }: { address: Address; edit: () => void; reload: () => Promise<void> }) {
  const { run, isBusy, refusal } = useAction(async (change: () => Promise<unknown>) => {
    await change();
    await reload();
  });
  const action = (label: string, act: () => void) => (
    <Button class="plain" isOff={isBusy} onClick={act} aria-label={`${label}: ${address.street}, ${address.number}`}>{label}</Button>
  );
  const setDefault = (type: "S" | "B") => () => void run(() => request(SetDefaultAddressDocument, { id: address.id, type }));
  return (
    <li>
      <address>{addressLines(address).map((line) => <div key={line}>{line}</div>)}</address>
      <p>
        {address.is_default_shipping && <span class="tag">Entrega</span>}
        {address.is_default_billing && <span class="tag">Cobrança</span>}
      </p>
      <p class="actions">
        {action("Editar", edit)}
        {!address.is_default_shipping && action("Usar para entrega", setDefault("S"))}
        {!address.is_default_billing && action("Usar para cobrança", setDefault("B"))}
        {action("Excluir", () => void run(() => request(DeleteAddressDocument, { id: address.id })))}
      </p>
      <Alert refusal={refusal} />
    </li>
  );
}
