// The payment of an order: what it waits for (Pix with QR code and countdown, boleto, card), or the choice of how to pay.

import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { explained } from "../api/explained";
import { request, useRead } from "../api/requests";
import { money } from "../format";
import { PaymentOptionsDocument, PayOrderDocument, type OrderPageQuery, type PaymentOptionsQuery, type PayOrderMutationVariables } from "../generated";
import { dateTime } from "../orders";
import { Alert, Field, Form, useAction } from "../ui/form";

type OrderRecord = NonNullable<OrderPageQuery["placed_order"]>;
type PaymentRecord = OrderRecord["payments"][number];
type Option = NonNullable<PaymentOptionsQuery["payment_options"]>[number];

interface PaymentProps {
  order: OrderRecord;
  token: string | null;
  reload: () => Promise<void>;
}

const pay = (variables: PayOrderMutationVariables, key: string) =>
  request(PayOrderDocument, variables, key).catch(
    explained({
      order_paid: "Este pedido já está pago.",
      order_not_payable: "Este pedido não pode mais ser pago.",
      kind_unavailable: "Esta forma de pagamento não está mais disponível.",
      installments_unavailable: "Este parcelamento não está mais disponível.",
    }),
  );
const NAMES: Record<string, string> = { PIX: "Pix", BOLETO: "Boleto", CARD: "Cartão de crédito" };
// A real gateway's script makes a token of the card that is typed into its own fields; the sandbox knows these.
const TEST_CARDS = [
  { token: "tok_approved", name: "Cartão de teste aprovado" },
  { token: "tok_declined", name: "Cartão de teste recusado" },
];
const isLive = ({ status }: PaymentRecord) => status === "PENDING" || status === "AUTHORIZED";

/** What an unpaid order shows of its payment. A store without a gateway leaves it to `children`. */
export function Payment({ order, token, reload, children }: PaymentProps & { children: ComponentChildren }) {
  const options = useRead(PaymentOptionsDocument, { id: order.id, token });
  const [isChoosing, setChoosing] = useState(false);
  const latest = order.payments[order.payments.length - 1];
  const waiting = latest && isLive(latest) ? latest : null;
  const offered = options.data?.payment_options ?? [];
  // Who chose Pix at the checkout sees its code at once. The key is the order's: a second tab gets the same payment.
  const isPix = order.payments.length === 0 && order.payment_method?.kind === "PIX" && offered.some(({ kind }) => kind === "PIX");
  const pix = useAction(async () => {
    await pay({ id: order.id, token, kind: "PIX" }, `${order.id}-pix`);
    await reload();
  });
  useEffect(() => {
    if (isPix) void pix.run();
  }, [isPix]);
  if (!waiting && ((options.isLoading && !options.data) || (isPix && !pix.refusal))) return <p role="status">Carregando…</p>;
  if (!waiting && offered.length === 0) return <>{children}</>;
  return (
    <section class="payment" aria-label="Pagamento">
      <Alert refusal={pix.refusal} />
      {waiting && !isChoosing ? (
        <>
          <Waiting payment={waiting} currency={order.currency} />
          {offered.length > 1 && (
            <button class="plain" onClick={() => setChoosing(true)}>
              Pagar de outra forma
            </button>
          )}
        </>
      ) : (
        <Choice
          order={order}
          token={token}
          options={offered}
          failure={latest?.failure?.message}
          reload={async () => {
            await reload();
            setChoosing(false);
          }}
        />
      )}
    </section>
  );
}

/** The kinds of payment. One for an order that was placed with Pix begins with it. */
function Choice({ order, token, options, failure, reload }: PaymentProps & { options: Option[]; failure?: string }) {
  const preferred = options.find(({ kind }) => kind === order.payment_method?.kind) ?? options[0];
  const [kind, setKind] = useState(preferred?.kind ?? "PIX");
  const [installments, setInstallments] = useState(1);
  const chosen = options.find((option) => option.kind === kind);
  const plan = chosen?.installments.find(({ number }) => number === installments);
  // One key for each attempt: sent again after a lost answer, it doesn't pay twice.
  const key = useRef(`${order.id}-${order.payments.length}`);
  async function submit({ card, document }: Record<string, string>) {
    const variables = {
      id: order.id,
      token,
      kind,
      installments: kind === "CARD" ? installments : 1,
      ...(kind === "CARD" && { card }),
      ...(kind === "BOLETO" && document && { billing: { document } }),
    };
    await pay(variables, `${key.current}-${kind}-${installments}-${card ?? ""}-${document?.replace(/\D/g, "") ?? ""}`);
    await reload();
  }
  return (
    <>
      <h2>Como você quer pagar?</h2>
      {failure && <p class="warning">{failure}</p>}
      <Form label={`Pagar ${money(plan?.total_cents ?? chosen?.total_cents ?? order.total_cents, order.currency)}`} submit={submit}>
        {(fields) => (
          <>
            <fieldset>
              <legend class="hidden">Forma de pagamento</legend>
              {options.map((option) => (
                <label key={option.kind} class="choice wide">
                  <input type="radio" name="kind" value={option.kind} checked={option.kind === kind} onChange={() => setKind(option.kind)} />
                  <span>{NAMES[option.kind]}</span>
                  <strong>{money(option.total_cents, order.currency)}</strong>
                </label>
              ))}
            </fieldset>
            {kind === "BOLETO" && (
              <Field name="document" label="CPF ou CNPJ" inputMode="numeric" error={fields["billing.document"]} hint="O banco pede o documento de quem paga." />
            )}
            {kind === "CARD" && chosen && (
              <CardFields options={chosen} currency={order.currency} number={installments} choose={setInstallments} />
            )}
          </>
        )}
      </Form>
    </>
  );
}

interface CardFieldsProps {
  options: Option;
  currency: string;
  number: number;
  choose: (number: number) => void;
}

function CardFields({ options, currency, number, choose }: CardFieldsProps) {
  return (
    <>
      <fieldset>
        <legend>Cartão</legend>
        {TEST_CARDS.map(({ token, name }, index) => (
          <label key={token} class="choice wide">
            <input type="radio" name="card" value={token} defaultChecked={index === 0} />
            <span>{name}</span>
          </label>
        ))}
      </fieldset>
      <label class="field">
        Parcelas
        <select value={number} onChange={(event) => choose(Number(event.currentTarget.value))}>
          {options.installments.map((plan) => (
            <option key={plan.number} value={plan.number}>
              {plan.number} × {money(plan.other_cents, currency)} {plan.surcharge_cents ? `(total ${money(plan.total_cents, currency)})` : "sem juros"}
            </option>
          ))}
        </select>
      </label>
    </>
  );
}

function Waiting({ payment, currency }: { payment: PaymentRecord; currency: string }) {
  if (payment.pix) return <Pix payment={payment} code={payment.pix.code} image={payment.pix.qr_svg} currency={currency} />;
  if (payment.boleto) {
    return (
      <>
        <h2>Pague o boleto</h2>
        <p>
          {money(payment.amount_cents, currency)}, até {dateTime(payment.boleto.due_at)}.
        </p>
        <Copied label="Linha digitável" text={payment.boleto.line} rows={2} />
      </>
    );
  }
  return (
    <>
      <h2>Pagamento em andamento</h2>
      <p>Aguardando a resposta do meio de pagamento. Esta página mostra o resultado assim que ele chega.</p>
    </>
  );
}

function Pix({ payment, code, image, currency }: { payment: PaymentRecord; code: string; image: string; currency: string }) {
  return (
    <div class="pix">
      <h2>Pague com Pix</h2>
      <p>
        {money(payment.amount_cents, currency)}. {payment.expires_at && <Countdown until={payment.expires_at} />}
      </p>
      <img src={`data:image/svg+xml,${encodeURIComponent(image)}`} alt="QR code do Pix" width="240" height="240" />
      <Copied label="Pix copia e cola" text={code} rows={4} />
      <p class="quiet">Esta página mostra o pagamento assim que ele chega.</p>
    </div>
  );
}

/** The time that is left, by the second; screen readers get it once. */
function Countdown({ until }: { until: string }) {
  const left = () => Math.max(0, Math.floor((Date.parse(until) - Date.now()) / 1000));
  const [seconds, setSeconds] = useState(left);
  useEffect(() => {
    const timer = setInterval(() => setSeconds(left()), 1000);
    return () => clearInterval(timer);
  }, [until]);
  if (seconds === 0) return <>O código expirou.</>;
  const minutes = Math.floor(seconds / 60);
  return (
    <>
      O código vale por <time dateTime={until}>{`${minutes}:${String(seconds % 60).padStart(2, "0")}`}</time>.
    </>
  );
}

function Copied({ label, text, rows }: { label: string; text: string; rows: number }) {
  const [copied, setCopied] = useState("");
  async function copy() {
    const isCopied = await navigator.clipboard?.writeText(text).then(() => true, () => false);
    setCopied(isCopied ? "Código copiado." : "Selecione o código e copie.");
  }
  return (
    <>
      <label class="field">
        {label}
        <textarea readOnly rows={rows} value={text} onFocus={(event) => event.currentTarget.select()} />
      </label>
      <button class="primary" onClick={() => void copy()}>Copiar código</button>
      <p role="status">{copied}</p>
    </>
  );
}
