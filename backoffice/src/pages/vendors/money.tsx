// The money of a vendor: payouts, and the ledger that they are taken from.
import Box from "@mui/material/Box";
import Button from "@mui/material/Button";
import Link from "@mui/material/Link";
import { useTranslate } from "ra-core";
import { TextInput } from "ra-ui-materialui";
import { useState } from "react";
import { Link as RouterLink } from "react-router-dom";
import { mayDo } from "../../data/permissions";
import { FormDialog } from "../../derived/form-dialog";
import { Value } from "../../derived/value";
import { money, number, time } from "../../format";
import { OfficeLedgerAdjustDocument, OfficePayoutCancelDocument, OfficePayoutCreateDocument, OfficePayoutPaidDocument } from "../../generated";
import { execute } from "../../graphql/client";
import { useChange } from "../change";
import { cents, MoneyInput, Nothing, Section } from "../orders/parts";
import type { Vendor, VendorEntries, VendorPayouts } from "./data";

type Payout = VendorPayouts["items"][number];

const MONEY = ["vendor", "payout", "ledger_entry", "vendor_account"];

export function PayoutButton({ vendor }: { vendor: Vendor }) {
  const translate = useTranslate();
  const change = useChange(...MONEY);
  const [isOpen, setOpen] = useState(false);
  const available = vendor.balance?.available_cents ?? 0;
  return (
    <>
      <Button variant="contained" size="small" disabled={available <= 0} onClick={() => setOpen(true)}>{translate("vendor.pay_out")}</Button>
      {isOpen && (
        <FormDialog
          title={translate("vendor.pay_out")} values={{ amount_cents: available, note: "" }} onClose={() => setOpen(false)}
          onSubmit={({ amount_cents, note }, key) => change(() => execute(OfficePayoutCreateDocument, { vendor_id: vendor.id, amount_cents: cents(amount_cents) ?? 0, note: String(note ?? "") }, key))}
        >
          <Box>{translate("vendor.pay_out_help")}</Box>
          <MoneyInput source="input.amount_cents" label={translate("order.amount")} helperText={money(available)} />
          <TextInput source="input.note" label="vendor.note" helperText={false} fullWidth />
        </FormDialog>
      )}
    </>
  );
}

export function Payouts({ vendor, payouts }: { vendor: Vendor; payouts: VendorPayouts }) {
  const translate = useTranslate();
  const [chosen, setChosen] = useState<{ payout: Payout; isPaid: boolean } | null>(null);
  return (
    <Section title={translate("vendor.payouts")}>
      {!payouts.items.length && <Nothing />}
      {payouts.items.map((payout) => (
        <Box key={payout.id} data-payout={payout.status} sx={{ display: "flex", flexWrap: "wrap", gap: 1, alignItems: "center" }}>
          <Link component={RouterLink} to={`/payout/${payout.id}`} sx={{ fontWeight: 600 }}>{translate("vendor.payout", { number: payout.number })}</Link>
          <span>{money(payout.amount_cents, payout.currency)}</span>
          <Value field={{ name: "status", kind: "enum", enum: "PayoutStatus" }} value={payout.status} />
          <Box component="span" sx={{ color: "text.secondary", fontSize: "0.85rem", overflowWrap: "anywhere" }}>{[time(payout.paid_at ?? payout.created_at), payout.note].filter(Boolean).join(" · ")}</Box>
          <Box sx={{ flex: 1 }} />
          {payout.status === "pending" && mayDo("payout_mark_paid") && <Button size="small" variant="outlined" onClick={() => setChosen({ payout, isPaid: true })}>{translate("vendor.mark_paid")}</Button>}
          {payout.status === "pending" && mayDo("payout_cancel") && <Button size="small" onClick={() => setChosen({ payout, isPaid: false })}>{translate("vendor.cancel_payout")}</Button>}
        </Box>
      ))}
      <All entity="payout" vendor={vendor} total={payouts.total} shown={payouts.items.length} />
      {chosen && <PayoutDialog {...chosen} onClose={() => setChosen(null)} />}
    </Section>
  );
}

function PayoutDialog({ payout, isPaid, onClose }: { payout: Payout; isPaid: boolean; onClose: () => void }) {
  const translate = useTranslate();
  const change = useChange(...MONEY);
  const run = (note: string) => (isPaid ? execute(OfficePayoutPaidDocument, { id: payout.id, note }) : execute(OfficePayoutCancelDocument, { id: payout.id, note }));
  return (
    <FormDialog
      title={translate(isPaid ? "vendor.mark_paid" : "vendor.cancel_payout")} values={{ note: payout.note }} onClose={onClose}
      onSubmit={({ note }) => change(() => run(String(note ?? "")))}
    >
      <Box>{translate("vendor.payout", { number: payout.number })}: {money(payout.amount_cents, payout.currency)}</Box>
      <TextInput source="input.note" label="vendor.note" helperText={false} fullWidth />
    </FormDialog>
  );
}

export function Ledger({ vendor, entries }: { vendor: Vendor; entries: VendorEntries }) {
  const translate = useTranslate();
  const change = useChange(...MONEY);
  const [isOpen, setOpen] = useState(false);
  const adjust = mayDo("ledger_adjust") && <Button size="small" onClick={() => setOpen(true)}>{translate("vendor.adjust")}</Button>;
  return (
    <Section title={translate("vendor.ledger")} actions={adjust}>
      {!entries.items.length && <Nothing />}
      <Box component="ol" sx={{ listStyle: "none", m: 0, p: 0, display: "grid", gap: 1, fontSize: "0.92rem" }}>
        {entries.items.map((entry) => <Entry key={entry.id} entry={entry} />)}
      </Box>
      <All entity="ledger_entry" vendor={vendor} total={entries.total} shown={entries.items.length} />
      {isOpen && (
        <FormDialog
          title={translate("vendor.adjust")} values={{ amount_cents: null, reason: "" }} onClose={() => setOpen(false)}
          onSubmit={({ amount_cents, reason }, key) => change(() => execute(OfficeLedgerAdjustDocument, { vendor_id: vendor.id, amount_cents: cents(amount_cents) ?? 0, reason: String(reason ?? "") }, key))}
        >
          <MoneyInput source="input.amount_cents" label={translate("vendor.adjust_amount")} />
          <TextInput source="input.reason" label="order.reason" helperText={false} fullWidth isRequired />
        </FormDialog>
      )}
    </Section>
  );
}

function Entry({ entry }: { entry: VendorEntries["items"][number] }) {
  const translate = useTranslate();
  const { order, payout } = entry;
  const waits = new Date(entry.available_at).getTime() > Date.now();
  return (
    <Box component="li" sx={{ display: "flex", flexWrap: "wrap", columnGap: 1.5, alignItems: "baseline" }}>
      <Box component="span" sx={{ flex: "1 1 180px", minWidth: 0 }}>
        <Value field={{ name: "kind", kind: "enum", enum: "LedgerEntryKind" }} value={entry.kind} />
        {order && <> · <Link component={RouterLink} to={`/order/${order.id}`}>{translate("order.title", { number: order.number })}</Link></>}
        {payout && <> · <Link component={RouterLink} to={`/payout/${payout.id}`}>{translate("vendor.payout", { number: payout.number })}</Link></>}
        {entry.reason && <Box component="span"> · {entry.reason}</Box>}
        <Box sx={{ color: "text.secondary", fontSize: "0.85rem" }}>{time(entry.created_at)}{waits ? ` · ${translate("vendor.available_at", { time: time(entry.available_at) })}` : ""}</Box>
      </Box>
      <Box component="span" sx={{ fontWeight: 600, color: entry.amount_cents < 0 ? "error.main" : "text.primary", whiteSpace: "nowrap" }}>{money(entry.amount_cents)}</Box>
    </Box>
  );
}

function All({ entity, vendor, total, shown }: { entity: string; vendor: Vendor; total: number; shown: number }) {
  const translate = useTranslate();
  if (total <= shown) return null;
  return <Button component={RouterLink} to={`/${entity}?filter=${encodeURIComponent(JSON.stringify({ vendor_id: vendor.id }))}`}>{translate("vendor.all", { count: number(total) })}</Button>;
}
