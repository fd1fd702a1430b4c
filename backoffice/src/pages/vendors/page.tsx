// One vendor: approval and commission, balance, payouts and ledger, above the form of its data. A vendor sees its own, as its profile.
import Alert from "@mui/material/Alert";
import Box from "@mui/material/Box";
import Button from "@mui/material/Button";
import Link from "@mui/material/Link";
import { useRecordContext, useTranslate } from "ra-core";
import { SelectInput } from "ra-ui-materialui";
import { type ReactNode, useState } from "react";
import { useWatch } from "react-hook-form";
import { Link as RouterLink, useParams } from "react-router-dom";
import { mayDo } from "../../data/permissions";
import { EntityEdit } from "../../derived/edit";
import { FormDialog } from "../../derived/form-dialog";
import { useDescriptions, useEntity } from "../../entities/load";
import { money, number } from "../../format";
import { OfficeVendorUpdateDocument, type VendorInput } from "../../generated";
import { execute } from "../../graphql/client";
import { useSession } from "../../shell/context";
import NotFound from "../../shell/not-found";
import { useChange } from "../change";
import { cents, Facts, MoneyInput, Section } from "../orders/parts";
import { useVendor, type Vendor } from "./data";
import { Ledger, PayoutButton, Payouts } from "./money";

const FIELDS = ["balance", "product_count", "average_rating", "review_count", "commission", "commission_type", "status", "seo", "description_text"];
const LISTS = ["ledger_entry", "payout"];
// Those that the server changes for administrators only.
const OF_STAFF = ["slug", "status", "cnpj", "commission", "commission_type", "recipient_id"];
const WAITING = ["P", "N"];
const ACTIVE = "A";
const SUSPENDED = "D";
const PERCENT = "P";
const AMOUNT = "A";

export default function VendorPage() {
  const { id = "" } = useParams();
  const { me } = useSession();
  const { entities } = useDescriptions();
  const entity = useEntity("vendor");
  const isOwn = me.role === "vendor";
  if (isOwn && id !== me.vendor?.id) return <NotFound />;
  // Its menu has the lists of a vendor.
  const byHand = { fields: FIELDS, lists: isOwn ? Object.keys(entities) : LISTS };
  const shown = isOwn && entity.update ? { ...entity, update: { ...entity.update, fields: entity.update.fields.filter(({ name }) => !OF_STAFF.includes(name)) } } : entity;
  return <EntityEdit key={id} entity={shown} actions={<Suspend />} top={<Activity />} byHand={byHand} />;
}

function Activity() {
  const record = useRecordContext();
  const data = useVendor(record?.id);
  if (!record || !data?.vendor) return null;
  const { vendor } = data;
  return (
    <>
      <Approval vendor={vendor} />
      <Box sx={{ display: "grid", gap: 2, alignItems: "start", gridTemplateColumns: { xs: "minmax(0, 1fr)", lg: "minmax(0, 1fr) minmax(0, 2fr)" } }}>
        <Box sx={{ display: "grid", gap: 2, gridTemplateColumns: "minmax(0, 1fr)" }}>
          <Balance vendor={vendor} />
          <Commission vendor={vendor} orders={data.order_page?.total} />
        </Box>
        <Box sx={{ display: "grid", gap: 2, gridTemplateColumns: "minmax(0, 1fr)" }}>
          {data.payout_page && <Payouts vendor={vendor} payouts={data.payout_page} />}
          {data.ledger_entry_page && <Ledger vendor={vendor} entries={data.ledger_entry_page} />}
        </Box>
      </Box>
    </>
  );
}

function useMayDecide(): boolean {
  const { me } = useSession();
  return me.role === "admin" && mayDo("vendor_update");
}

type Decision = "approve" | "suspend";

function useDecision(vendor: Vendor | null | undefined): { mayDecide: boolean; choose: (decision: Decision) => void; dialog: ReactNode } {
  const mayDecide = useMayDecide();
  const [decision, setDecision] = useState<Decision | null>(null);
  const dialog = vendor && decision && <Decide vendor={vendor} decision={decision} onClose={() => setDecision(null)} />;
  return { mayDecide, choose: setDecision, dialog };
}

// Above the page of a vendor that isn't active.
function Approval({ vendor }: { vendor: Vendor }) {
  const translate = useTranslate();
  const { mayDecide, choose, dialog } = useDecision(vendor);
  const isWaiting = WAITING.includes(vendor.status);
  if (vendor.status === ACTIVE) return null;
  return (
    <Alert severity={isWaiting ? "info" : "warning"} sx={{ alignItems: "center" }}>
      <Box sx={{ display: "flex", flexWrap: "wrap", gap: 2, alignItems: "center" }}>
        {translate(isWaiting ? "vendor.waits" : "vendor.disabled")}
        {mayDecide && <Button variant="contained" onClick={() => choose("approve")}>{translate("vendor.approve")}</Button>}
        {mayDecide && isWaiting && <Button variant="outlined" color="inherit" onClick={() => choose("suspend")}>{translate("vendor.refuse")}</Button>}
      </Box>
      {dialog}
    </Alert>
  );
}

function Suspend() {
  const translate = useTranslate();
  const vendor = useVendor(useRecordContext()?.id)?.vendor;
  const { mayDecide, choose, dialog } = useDecision(vendor);
  if (!mayDecide || vendor?.status !== ACTIVE) return null;
  return (
    <>
      <Button variant="outlined" size="small" onClick={() => choose("suspend")}>{translate("vendor.suspend")}</Button>
      {dialog}
    </>
  );
}

function Decide({ vendor, decision, onClose }: { vendor: Vendor; decision: Decision; onClose: () => void }) {
  const translate = useTranslate();
  const change = useChange("vendor", "user", "home");
  const isApproval = decision === "approve";
  const status = isApproval ? ACTIVE : SUSPENDED;
  const title = translate(isApproval ? "vendor.approve" : "vendor.suspend");
  const values = isApproval ? commissionValues(vendor) : {};
  return (
    <FormDialog
      title={title} values={values} onClose={onClose}
      onSubmit={(entered) => change(() => execute(OfficeVendorUpdateDocument, { id: vendor.id, input: { status, ...(isApproval ? commissionOf(entered) : {}) } }), isApproval ? "vendor.approved" : "vendor.suspended")}
    >
      <Box>{translate(isApproval ? "vendor.approve_help" : "vendor.suspend_help")}</Box>
      {isApproval && <CommissionInputs />}
    </FormDialog>
  );
}

const commissionValues = ({ commission, commission_type }: Vendor) => ({ commission_type: commission_type ?? PERCENT, rate: (commission ?? "0").replace(".", ",") });

// As typed, with a decimal comma, to the decimal text of the schema.
function commissionOf({ rate, commission_type }: { rate?: unknown; commission_type?: unknown }): VendorInput {
  return { commission: (Number(cents(rate)) / 100).toFixed(2), commission_type: commission_type === AMOUNT ? AMOUNT : PERCENT };
}

function CommissionInputs() {
  const translate = useTranslate();
  const type = useWatch({ name: "input.commission_type" }) as unknown;
  const choices = [{ id: PERCENT, name: "%" }, { id: AMOUNT, name: translate("vendor.commission_amount") }];
  return (
    <>
      <SelectInput source="input.commission_type" label="vendor.commission_type" choices={choices} translateChoice={false} helperText={false} fullWidth isRequired />
      <MoneyInput isRequired source="input.rate" label={translate(type === AMOUNT ? "vendor.commission_amount" : "vendor.commission_percent")} />
    </>
  );
}

function Balance({ vendor }: { vendor: Vendor }) {
  const translate = useTranslate();
  const { balance } = vendor;
  if (!balance) return null;
  const facts = [
    [translate("vendor.pending"), money(balance.pending_cents)],
    [translate("vendor.total"), money(balance.total_cents)],
  ] as const;
  return (
    <Section title={translate("vendor.balance")} actions={mayDo("payout_create") && <PayoutButton vendor={vendor} />}>
      <Box>
        <Box sx={{ fontSize: "1.6rem", fontWeight: 650, lineHeight: 1.2 }} data-available>{money(balance.available_cents)}</Box>
        <Box sx={{ color: "text.secondary", fontSize: "0.9rem" }}>{translate("vendor.available")}</Box>
      </Box>
      <Facts facts={facts} />
    </Section>
  );
}

function Commission({ vendor, orders }: { vendor: Vendor; orders: number | undefined }) {
  const translate = useTranslate();
  const mayDecide = useMayDecide();
  const change = useChange("vendor");
  const [isOpen, setOpen] = useState(false);
  const filter = encodeURIComponent(JSON.stringify({ vendor_id: vendor.id }));
  const amount = vendor.commission_type === AMOUNT ? money(Math.round(Number(vendor.commission) * 100)) : `${number(Number(vendor.commission))} %`;
  const rating = vendor.average_rating ? translate("vendor.rating_of", { rating: number(Math.round(vendor.average_rating * 10) / 10), count: number(vendor.review_count) }) : "";
  return (
    <Section title={translate("vendor.commission")} actions={mayDecide && <Button size="small" onClick={() => setOpen(true)} aria-label={translate("vendor.set_commission")}>{translate("order.edit")}</Button>}>
      <Box sx={{ fontSize: "1.2rem", fontWeight: 600 }} data-commission>{vendor.commission === null ? "" : amount}</Box>
      <Facts
        facts={[
          [translate("vendor.products"), <Link key="products" component={RouterLink} to={`/product?filter=${filter}`}>{number(vendor.product_count)}</Link>],
          [translate("vendor.orders"), orders === undefined ? "" : <Link key="orders" component={RouterLink} to={`/order?filter=${filter}`}>{number(orders)}</Link>],
          [translate("vendor.rating"), rating],
        ]}
      />
      {isOpen && (
        <FormDialog
          title={translate("vendor.set_commission")} button={translate("ra.action.save")} values={commissionValues(vendor)} onClose={() => setOpen(false)}
          onSubmit={(entered) => change(() => execute(OfficeVendorUpdateDocument, { id: vendor.id, input: commissionOf(entered) }))}
        >
          <CommissionInputs />
        </FormDialog>
      )}
    </Section>
  );
}
