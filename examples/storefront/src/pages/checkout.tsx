// The checkout on one page: e-mail, address, then delivery, then payment; each step changes the cart and shows what it answers.

import { useEffect, useRef, useState } from "preact/hooks";
import { cartId, isGone, keepCart } from "../api/cart";
import { Refusal } from "../api/errors";
import { request, useRead } from "../api/requests";
import { addAddress } from "../api/saved-addresses";
import { isSignedIn } from "../api/session";
import { nextStep } from "../focus";
import { money, plainText } from "../format";
import {
  AddressBookDocument,
  CheckoutDocument,
  CheckoutPageDocument,
  SetAddressDocument,
  SetEmailDocument,
  SetShippingOptionDocument,
  type AddressBookQuery,
  type CartAddressInput,
  type CheckoutPageQuery,
} from "../generated";
import { addressLines } from "../orders";
import { navigate, Title } from "../router";
import { AddressFields } from "../ui/address";
import { Alert, Button, Field, Form, useAction } from "../ui/form";
import { Loaded } from "../ui/page";
import { Coupon, Totals } from "./cart";

type CartRecord = NonNullable<CheckoutPageQuery["cart"]>;
type PaymentMethod = NonNullable<CartRecord["payment_methods"]>[number];
type SavedAddress = NonNullable<NonNullable<AddressBookQuery["me"]>["addresses"]>[number];

interface StepProps {
  cart: CartRecord;
  reload: () => Promise<void>;
}

export function Checkout() {
  const read = useRead(CheckoutPageDocument, cartId.value ? { cart: cartId.value } : null);
  useEffect(() => {
    if (cartId.value === null) navigate("/carrinho", true);
  }, []);
  return (
    <Loaded read={read}>
      {({ cart }) =>
        cart && (
          <>
            <Title name="Finalizar compra">Finalizar compra</Title>
            {!isSignedIn.value && (
              <p>Já tem conta? <a href="/entrar?voltar=/finalizar">Entre</a> para usar seus endereços, ou continue sem conta.</p>
            )}
            <div role="status">
              {cart.warnings.map((warning) => <p key={warning.message} class="warning">{warning.message}</p>)}
            </div>
            <div class="columns">
              <div class="steps">
                {!isSignedIn.value && <ContactStep cart={cart} reload={read.reload} />}
                <AddressStep cart={cart} reload={read.reload} />
                {cart.address && <DeliveryStep cart={cart} reload={read.reload} />}
                {(isSignedIn.value || cart.customer_email) && cart.address && cart.shipping_option && <PaymentStep key={cart.shipping_option.shipping_id} cart={cart} reload={read.reload} />}
              </div>
              <aside class="summary" aria-label="Resumo">
                <ul>
                  {cart.items.map((item) => (
                    <li key={item.id}>
                      {item.quantity} × {item.name} {item.options.map((option) => option.value).join(", ")}
                    </li>
                  ))}
                </ul>
                <Totals totals={cart} currency={cart.currency} />
                <Coupon cart={cart} reload={read.reload} />
              </aside>
            </div>
          </>
        )
      }
    </Loaded>
  );
}

/** A guest's e-mail, before the coupon counts for anything: it may be valid once per customer. */
function ContactStep({ cart, reload }: StepProps) {
  const [isChanging, setChanging] = useState(cart.customer_email === null);
  async function use({ email = "" }: Record<string, string>) {
    const goOn = nextStep();
    await request(SetEmailDocument, { cart: cart.id, email });
    await reload();
    if (!email) return;
    setChanging(false);
    goOn();
  }
  return (
    <section>
      <h2 tabIndex={-1}>Contato</h2>
      {!isChanging && cart.customer_email ? (
        <>
          <p>{cart.customer_email}</p>
          <button class="plain" onClick={() => setChanging(true)}>Trocar e-mail</button>
        </>
      ) : (
        <Form label="Continuar" submit={use}>
          {(fields) => (
            <Field
              name="email"
              label="E-mail"
              type="email"
              autoComplete="email"
              defaultValue={cart.customer_email ?? ""}
              error={fields.customer_email}
              hint="Para enviar a confirmação do pedido."
            />
          )}
        </Form>
      )}
    </section>
  );
}

/** The part of an address that a cart takes. */
function addressInput({ name, street, number, complement, district, city, state, zipcode, phone }: CartAddressInput): CartAddressInput {
  return { name, street, number, complement, district, city, state, zipcode, phone };
}

function AddressStep({ cart, reload }: StepProps) {
  const [isChanging, setChanging] = useState(cart.address === null);
  const book = useRead(AddressBookDocument, isSignedIn.value ? {} : null);
  const saved = book.data?.me?.addresses ?? [];
  async function use(address: CartAddressInput) {
    const goOn = nextStep();
    await request(SetAddressDocument, { cart: cart.id, address: addressInput(address) });
    await reload();
    setChanging(false);
    goOn();
  }
  return (
    <section>
      <h2 tabIndex={-1}>Endereço de entrega</h2>
      {!isChanging && cart.address ? (
        <>
          <address>{addressLines(cart.address).map((line) => <div key={line}>{line}</div>)}</address>
          <button class="plain" onClick={() => setChanging(true)}>Trocar endereço</button>
        </>
      ) : book.isLoading && isSignedIn.value ? (
        <p role="status">Carregando endereços…</p>
      ) : (
        <>
          {saved.length > 0 && <SavedAddresses addresses={saved} use={use} />}
          <Form
            label="Entregar neste endereço"
            submit={async ({ save, zipcode = "", ...values }) => {
              const address = { ...values, zipcode };
              await use(address);
              if (save) await addAddress(addressInput(address));
            }}
          >
            {(fields) => (
              <>
                <AddressFields address={cart.address} fields={fields} />
                {isSignedIn.value && (
                  <label class="choice">
                    <input type="checkbox" name="save" defaultChecked={saved.length === 0} /> <span>Salvar na minha conta</span>
                  </label>
                )}
              </>
            )}
          </Form>
        </>
      )}
    </section>
  );
}

function SavedAddresses({ addresses, use }: { addresses: SavedAddress[]; use: (address: CartAddressInput) => Promise<void> }) {
  const { run, isBusy, refusal } = useAction(use);
  return (
    <>
      <ul class="addresses">
        {addresses.map((address) => (
          <li key={address.id}>
            <address>{addressLines(address).map((line) => <div key={line}>{line}</div>)}</address>
            <Button isOff={isBusy} onClick={() => void run(address)} aria-label={`Entregar em ${address.street}, ${address.number}`}>Entregar aqui</Button>
          </li>
        ))}
      </ul>
      <Alert refusal={refusal} />
      <h3>Outro endereço</h3>
    </>
  );
}

function DeliveryStep({ cart, reload }: StepProps) {
  const { run, isBusy, refusal } = useAction(async (option: string) => {
    await request(SetShippingOptionDocument, { cart: cart.id, option });
    await reload();
  });
  const options = cart.shipping_options ?? [];
  return (
    <section>
      <h2 tabIndex={-1}>Entrega</h2>
      {options.length === 0 && <p>Nenhuma forma de entrega atende este endereço.</p>}
      <fieldset aria-busy={isBusy}>
        <legend class="hidden">Forma de entrega</legend>
        {options.map((option) => (
          <label key={option.shipping_id} class="choice wide">
            <input
              type="radio"
              name="shipping"
              checked={cart.shipping_option?.shipping_id === option.shipping_id}
              onChange={() => void run(option.shipping_id)}
            />
            <span>
              {option.name} <small>{option.delivery_time}</small>
            </span>
            <strong>{option.price_cents ? money(option.price_cents, cart.currency) : "Grátis"}</strong>
          </label>
        ))}
      </fieldset>
      <Alert refusal={refusal} />
    </section>
  );
}

const UNANSWERED = new Set(["OFFLINE", "UNAVAILABLE", "INTERNAL"]);

// Pages that come by http from another machine have no crypto.randomUUID.
const newKey = () => crypto.randomUUID?.() ?? Array.from(crypto.getRandomValues(new Uint32Array(4)), String).join("-");

/** What a payment method adds to an amount; its percentage is in hundredths of a percent. */
function surchargeOf(method: PaymentMethod, cents: number): number {
  return method.surcharge_cents + Math.round((method.surcharge_percent * cents) / 10_000);
}

function PaymentStep({ cart, reload }: StepProps) {
  // One key until there is an answer: sent again after a lost one, it doesn't order twice.
  const key = useRef(newKey());
  const methods = cart.payment_methods ?? [];
  const [chosen, setChosen] = useState(methods[0]?.id);
  const method = methods.find(({ id }) => id === chosen);
  const total = cart.total_cents + (method ? surchargeOf(method, cart.total_cents) : 0);
  async function submit({ payment, name, notes }: Record<string, string>) {
    const input = { payment_id: payment, notes, ...(!isSignedIn.value && { customer_name: name }) };
    try {
      const { cart_checkout } = await request(CheckoutDocument, { cart: cart.id, input }, key.current);
      keepCart(null);
      navigate(`/pedido#id=${cart_checkout.order.id}&token=${cart_checkout.token}`);
    } catch (error) {
      if (!(error instanceof Refusal) || UNANSWERED.has(error.code)) throw error;
      key.current = newKey();
      if (isGone(error)) keepCart(null);
      else if (error.code === "RULE_VIOLATION") await reload();
      throw error;
    }
  }
  return (
    <section>
      <h2 tabIndex={-1}>Pagamento</h2>
      <Form label={`Fazer pedido · ${money(total, cart.currency)}`} submit={submit}>
        {(fields) => (
          <>
            {!isSignedIn.value && (
              <Field name="name" label="Nome completo" autoComplete="name" defaultValue={cart.address?.name} error={fields.customer_name} />
            )}
            <fieldset>
              <legend class="hidden">Forma de pagamento</legend>
              {methods.map((method) => {
                const surcharge = surchargeOf(method, cart.total_cents);
                return (
                  <label key={method.id} class="choice wide">
                    <input type="radio" name="payment" value={method.id} checked={method.id === chosen} onChange={() => setChosen(method.id)} />
                    <span>
                      {method.name} <small>{plainText(method.description)}</small>
                    </span>
                    {surcharge > 0 && <strong>+ {money(surcharge, cart.currency)}</strong>}
                  </label>
                );
              })}
            </fieldset>
            <Field name="notes" label="Observações (opcional)" />
          </>
        )}
      </Form>
    </section>
  );
}
