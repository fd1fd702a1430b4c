// The payments of an order: what was received, refunds, and payments that were made elsewhere.
import Box from "@mui/material/Box";
import Button from "@mui/material/Button";
import { useTranslate } from "ra-core";
import { TextInput } from "ra-ui-materialui";
import { useState } from "react";
import { mayDo } from "../../data/permissions";
import { FormDialog } from "../../derived/form-dialog";
import { Value } from "../../derived/value";
import { money, time } from "../../format";
import { OfficePaymentCancelDocument, OfficePaymentRecordDocument, OfficeRefundDocument } from "../../generated";
import { execute } from "../../graphql/client";
import { type Order, useChange } from "./data";
import { cents, MoneyInput, Nothing, Section } from "./parts";

type Payment = Order["payments"][number];
type Chosen = { name: "record" } | { name: "refund" | "cancel"; payment: Payment };

const REFUNDABLE = ["PAID", "PARTIALLY_REFUNDED"];
const LIVE = ["PENDING", "AUTHORIZED"];

export function Payments({ order }: { order: Order }) {
  const translate = useTranslate();
  const [chosen, setChosen] = useState<Chosen | null>(null);
  const close = () => setChosen(null);
  const record = mayDo("payment_record") && <Button variant="outlined" size="small" onClick={() => setChosen({ name: "record" })}>{translate("order.record_payment")}</Button>;
  return (
    <Section title={translate("order.payments")} actions={record}>
      {!order.payments.length && <Nothing />}
      {order.payments.map((payment) => <PaymentRow key={payment.id} payment={payment} onChoose={setChosen} />)}
      {chosen?.name === "record" && <RecordDialog order={order} onClose={close} />}
      {chosen?.name === "refund" && <RefundDialog payment={chosen.payment} onClose={close} />}
      {chosen?.name === "cancel" && <CancelDialog payment={chosen.payment} onClose={close} />}
    </Section>
  );
}

function PaymentRow({ payment, onChoose }: { payment: Payment; onChoose: (chosen: Chosen) => void }) {
  const translate = useTranslate();
  const card = payment.card ? `${payment.card.brand} •••• ${payment.card.last_four}` : "";
  const details = [payment.number, payment.kind, card, payment.installments > 1 ? `${payment.installments} ×` : "", time(payment.paid_at ?? payment.created_at)];
  const canRefund = mayDo("payment_refund") && payment.gateway && REFUNDABLE.includes(payment.status);
  const canCancel = mayDo("payment_cancel") && LIVE.includes(payment.status);
  return (
    <Box sx={{ display: "grid", gap: 0.5 }}>
      <Box sx={{ display: "flex", flexWrap: "wrap", gap: 1, alignItems: "center" }}>
        <strong>{money(payment.amount_cents, payment.currency)}</strong>
        <Value field={{ name: "status", kind: "enum", enum: "PaymentState" }} value={payment.status} />
        <Box sx={{ flex: 1 }} />
        {canRefund && <Button className="no-print" size="small" variant="outlined" onClick={() => onChoose({ name: "refund", payment })}>{translate("order.refund")}</Button>}
        {canCancel && <Button className="no-print" size="small" variant="outlined" onClick={() => onChoose({ name: "cancel", payment })}>{translate("order.cancel_payment")}</Button>}
      </Box>
      <Box sx={{ color: "text.secondary", fontSize: "0.85rem" }}>{details.filter(Boolean).join(" · ")}</Box>
      {payment.failure && <Box sx={{ color: "error.main", fontSize: "0.9rem" }}>{payment.failure.message}</Box>}
      {payment.refunds.map((refund) => (
        <Box key={refund.id} sx={{ fontSize: "0.9rem", display: "flex", gap: 1, flexWrap: "wrap" }}>
          {translate("order.refund")}: {money(refund.amount_cents, payment.currency)}
          <Value field={{ name: "status", kind: "enum", enum: "RefundState" }} value={refund.status} />
          {time(refund.created_at)} {refund.failure?.message ?? ""}
        </Box>
      ))}
    </Box>
  );
}

function RefundDialog({ payment, onClose }: { payment: Payment; onClose: () => void }) {
  const translate = useTranslate();
  const change = useChange();
  const rest = payment.paid_cents - payment.refunded_cents;
  return (
    <FormDialog
      title={translate("order.refund_of", { number: payment.number })} button={translate("order.refund")} values={{ amount_cents: rest }} onClose={onClose}
      onSubmit={({ amount_cents }, key) => change(() => execute(OfficeRefundDocument, { payment_id: payment.id, amount_cents: cents(amount_cents) ?? 0 }, key))}
    >
      <MoneyInput source="input.amount_cents" label={translate("order.amount")} helperText={money(rest, payment.currency)} />
    </FormDialog>
  );
}

function CancelDialog({ payment, onClose }: { payment: Payment; onClose: () => void }) {
  const translate = useTranslate();
  const change = useChange();
  return (
    <FormDialog title={translate("order.cancel_payment")} values={{}} onClose={onClose} onSubmit={() => change(() => execute(OfficePaymentCancelDocument, { payment_id: payment.id }))}>
      <Box>{payment.number}: {money(payment.amount_cents, payment.currency)}</Box>
    </FormDialog>
  );
}

// What the server would ask for by another payment.
function openCents({ total_cents, payments }: Order): number {
  return Math.max(total_cents - payments.reduce((sum, { paid_cents, refunded_cents }) => sum + paid_cents - refunded_cents, 0), 0);
}

function RecordDialog({ order, onClose }: { order: Order; onClose: () => void }) {
  const translate = useTranslate();
  const change = useChange();
  return (
    <FormDialog
      title={translate("order.record_payment")} values={{ amount_cents: openCents(order) || "", kind: "" }} onClose={onClose}
      onSubmit={({ amount_cents, kind }, key) => change(() => execute(OfficePaymentRecordDocument, { order_id: order.id, amount_cents: cents(amount_cents) ?? 0, kind: String(kind ?? "") }, key))}
    >
      <MoneyInput source="input.amount_cents" label={translate("order.amount")} />
      <TextInput source="input.kind" label="order.payment_kind" helperText={false} fullWidth />
    </FormDialog>
  );
}
