// One customer or user: orders, points, addresses and what the LGPD asks for, beside the form of the account.
import Box from "@mui/material/Box";
import Button from "@mui/material/Button";
import Link from "@mui/material/Link";
import { useQuery } from "@tanstack/react-query";
import { type RaRecord, useRecordContext, useTranslate } from "ra-core";
import { TextInput } from "ra-ui-materialui";
import { useState } from "react";
import { Link as RouterLink, useParams } from "react-router-dom";
import { mayDo, mayRead } from "../../data/permissions";
import { Actions } from "../../derived/actions";
import { EntityEdit } from "../../derived/edit";
import { FormDialog } from "../../derived/form-dialog";
import { NumericInput } from "../../derived/number-input";
import { StatusName, Value } from "../../derived/value";
import { useEntity } from "../../entities/load";
import { money, number, time } from "../../format";
import { OfficeCustomerDocument, type OfficeCustomerQuery, OfficePointsDocument } from "../../generated";
import { execute } from "../../graphql/client";
import { useChange } from "../change";
import { Nothing, Section } from "../orders/parts";
import { Addresses } from "./addresses";
import { Privacy } from "./privacy";

export type Customer = NonNullable<OfficeCustomerQuery["user"]>;
type Orders = OfficeCustomerQuery["order_page"];

const BY_HAND = {
  actions: ["points_adjust", "user_anonymize", "user_set_privileges"],
  lists: ["order", "point_entry"],
  fields: ["user_type", "addresses", "default_shipping_address", "default_billing_address", "point_entries"],
};

export default function CustomerPage() {
  const { id = "" } = useParams();
  return <EntityEdit key={id} entity={useEntity("user")} actions={<Staff />} top={<Activity />} aside={<Account />} byHand={BY_HAND} />;
}

// Only administrators have privileges.
function Staff() {
  const entity = useEntity("user");
  const record = useRecordContext();
  return record?.role === "admin" && <Actions entity={entity} record={record} without={["points_adjust", "user_anonymize"]} />;
}

function useCustomer(id: RaRecord["id"] | undefined) {
  const { data } = useQuery({
    queryKey: ["user", "page", id],
    queryFn: () => execute(OfficeCustomerDocument, { id: String(id), orders: mayRead("order_page") }),
    enabled: id !== undefined,
  });
  return data;
}

function Activity() {
  const record = useRecordContext();
  const data = useCustomer(record?.id);
  if (!record || !data?.user) return null;
  return (
    <Box sx={{ display: "grid", gap: 2, alignItems: "start", gridTemplateColumns: { xs: "minmax(0, 1fr)", lg: "minmax(0, 2fr) minmax(0, 1fr)" } }}>
      {data.order_page ? <OrdersOf id={record.id} orders={data.order_page} /> : <Addresses customer={data.user} />}
      <Points customer={data.user} />
    </Box>
  );
}

function OrdersOf({ id, orders }: { id: RaRecord["id"]; orders: NonNullable<Orders> }) {
  const translate = useTranslate();
  const { items, total } = orders;
  const filter = encodeURIComponent(JSON.stringify({ customer_id: id }));
  return (
    <Section title={translate("customer.orders")}>
      {!items.length && <Nothing />}
      <Box component="ul" sx={{ listStyle: "none", m: 0, p: 0, display: "grid", gap: 1 }}>
        {items.map((order) => (
          <Box component="li" key={order.id} sx={{ display: "flex", flexWrap: "wrap", gap: 1.5, alignItems: "center" }}>
            <Link component={RouterLink} to={`/order/${order.id}`} sx={{ fontWeight: 600 }}>{translate("order.title", { number: order.number })}</Link>
            <StatusName type="O" letter={order.status} />
            <span>{money(order.total_cents, order.currency)}</span>
            <Box component="span" sx={{ color: "text.secondary", fontSize: "0.9rem" }}>{time(order.created_at)}</Box>
          </Box>
        ))}
      </Box>
      {total > items.length && <Button component={RouterLink} to={`/order?filter=${filter}`}>{translate("customer.all_orders", { count: number(total) })}</Button>}
    </Section>
  );
}

function Points({ customer }: { customer: Customer }) {
  const translate = useTranslate();
  const [isOpen, setOpen] = useState(false);
  const adjust = mayDo("points_adjust") && <Button size="small" variant="outlined" onClick={() => setOpen(true)}>{translate("customer.adjust")}</Button>;
  return (
    <Section title={translate("customer.points", { count: number(customer.points) })} actions={adjust}>
      {!customer.point_entries?.length && <Nothing />}
      <Box component="ol" sx={{ listStyle: "none", m: 0, p: 0, display: "grid", gap: 1, fontSize: "0.92rem" }}>
        {customer.point_entries?.map((entry) => (
          <Box component="li" key={entry.id}>
            <strong>{entry.points > 0 ? `+${number(entry.points)}` : number(entry.points)}</strong>{" "}
            {entry.order ? <Link component={RouterLink} to={`/order/${entry.order.id}`}>{translate("order.title", { number: entry.order.number })}</Link> : entry.reason || <Value field={{ name: "kind", kind: "enum", enum: "PointEntryKind" }} value={entry.kind} />}
            <Box sx={{ color: "text.secondary", fontSize: "0.85rem" }}>{time(entry.created_at)} · {translate("customer.balance", { count: number(entry.balance) })}</Box>
          </Box>
        ))}
      </Box>
      {isOpen && <AdjustDialog id={customer.id} onClose={() => setOpen(false)} />}
    </Section>
  );
}

function AdjustDialog({ id, onClose }: { id: string; onClose: () => void }) {
  const translate = useTranslate();
  const change = useChange("user", "point_entry");
  return (
    <FormDialog
      title={translate("customer.adjust")} values={{ added: null, reason: "" }} onClose={onClose}
      onSubmit={({ added, reason }, key) => change(() => execute(OfficePointsDocument, { user_id: id, points: Number(added), reason: String(reason ?? "") }, key))}
    >
      <NumericInput source="input.added" label="customer.adjust_points" helperText={false} fullWidth isRequired validate={(value: unknown) => (typeof value === "number" && value !== 0 ? undefined : "customer.adjust_invalid")} />
      <TextInput source="input.reason" label="customer.reason" helperText={false} fullWidth />
    </FormDialog>
  );
}

// Beside the form.
function Account() {
  const record = useRecordContext();
  const data = useCustomer(record?.id);
  if (!record) return null;
  return (
    <>
      {data?.user && data.order_page && <Addresses customer={data.user} />}
      <Privacy user={record} />
    </>
  );
}
