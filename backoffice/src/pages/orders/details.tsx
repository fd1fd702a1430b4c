// Who ordered, where it goes, notes, the fiscal note and what happened.
import Box from "@mui/material/Box";
import Button from "@mui/material/Button";
import Link from "@mui/material/Link";
import { useTranslate } from "ra-core";
import { TextInput } from "ra-ui-materialui";
import { type ReactNode, useState } from "react";
import { Link as RouterLink } from "react-router-dom";
import { isRefused, mayDo, mayRead } from "../../data/permissions";
import type { Values } from "../../data/values";
import { FormDialog } from "../../derived/form-dialog";
import { StatusName, Value } from "../../derived/value";
import { time } from "../../format";
import { OfficeFiscalDataDocument, OfficeOrderDocument, OfficeOrderUpdateDocument } from "../../generated";
import { execute } from "../../graphql/client";
import { fieldName } from "../../texts";
import { type Order, useChange } from "./data";
import { Facts, Nothing, Section } from "./parts";

const ADDRESS = ["firstname", "lastname", "street", "number", "complement", "district", "city", "state", "zipcode", "country", "phone"] as const;
const CONTACT = ["firstname", "lastname", "email", "phone"] as const;
const NOTES = ["notes", "details"] as const;
const FISCAL = ["nota_fiscal", "chave_nota", "link_nota", "pdf_nota", "codigo_pedido_erp"] as const;

interface EditProps {
  title: string;
  names: readonly string[];
  // The same values of an order that was read again.
  read: (order: Order) => Values;
  order: Order;
  // What is written with the entered values.
  write: (changed: Values, entered: Values) => Promise<unknown>;
}

// A button that opens a form of some texts.
function EditTexts({ title, names, read, order, write }: EditProps) {
  const translate = useTranslate();
  const change = useChange();
  // The values at the time when the form was opened: the order may arrive again meanwhile.
  const [values, setValues] = useState<Values | null>(null);
  const fresh = {
    fields: names.map((name) => ({ name, kind: "text" }) as const),
    read: async () => read((await execute(OfficeOrderDocument, { id: order.id })).order ?? order),
  };
  const isLong = (name: string) => ["notes", "details"].includes(name);
  return (
    <>
      <Button size="small" onClick={() => setValues(read(order))} aria-label={`${translate("order.edit")}: ${title}`}>{translate("order.edit")}</Button>
      {values && (
        <FormDialog title={title} button={translate("ra.action.save")} values={values} fresh={fresh} onClose={() => setValues(null)} onSubmit={(entered) => change(() => write(changed(entered, values), entered))}>
          {names.map((name) => <TextInput key={name} source={`input.${name}`} label={fieldName(name)} helperText={false} fullWidth multiline={isLong(name)} {...(isLong(name) ? { minRows: 3 } : {})} />)}
        </FormDialog>
      )}
    </>
  );
}

function changed(entered: Values, previous: Values): Values {
  return Object.fromEntries(Object.entries(entered).filter(([name, value]) => (value ?? "") !== (previous[name] ?? "")).map(([name, value]) => [name, value ?? ""]));
}

const pick = (record: Values | null, names: readonly string[]): Values => Object.fromEntries(names.map((name) => [name, record?.[name] ?? ""]));
const update = (order: Order, input: Values) => execute(OfficeOrderUpdateDocument, { id: order.id, input });

function contact({ customer }: Order): Values {
  const [firstname = "", ...rest] = customer.name.split(" ");
  return { firstname, lastname: rest.join(" "), email: customer.email, phone: customer.phone ?? "" };
}

// An order has one name, which is cut here: a part of it that changed would be joined to another part than the one that is shown.
const named = (changes: Values, { firstname, lastname }: Values): Values =>
  "firstname" in changes || "lastname" in changes ? { ...changes, firstname: firstname ?? "", lastname: lastname ?? "" } : changes;

export function Customer({ order }: { order: Order }) {
  const translate = useTranslate();
  const { customer } = order;
  const edit = mayDo("order_create") && <EditTexts title={translate("order.contact")} names={CONTACT} read={contact} order={order} write={(entered, values) => update(order, named(entered, values))} />;
  return (
    <Section title={translate("order.customer")} actions={edit}>
      <Box sx={{ overflowWrap: "anywhere" }}>
        {customer.id && mayRead("user_page") ? <Link component={RouterLink} to={`/user/${customer.id}`}>{customer.name}</Link> : customer.name}
        <Box><Link href={`mailto:${customer.email}`}>{customer.email}</Link></Box>
        {customer.phone && <Box><Link href={`tel:${customer.phone.replaceAll(/[^+\d]/g, "")}`}>{customer.phone}</Link></Box>}
      </Box>
      <Address order={order} kind="shipping_address" />
      <Address order={order} kind="billing_address" />
    </Section>
  );
}

function Address({ order, kind }: { order: Order; kind: "shipping_address" | "billing_address" }) {
  const translate = useTranslate();
  const address = order[kind];
  const title = translate(`order.${kind}`);
  return (
    <Box>
      <Box sx={{ display: "flex", alignItems: "center", fontWeight: 600, fontSize: "0.9rem" }}>
        <Box sx={{ flex: 1 }}>{title}</Box>
        <Box className="no-print">{mayDo("order_create") && <EditTexts title={title} names={ADDRESS} read={(each) => pick(each[kind], ADDRESS)} order={order} write={(entered) => update(order, { [kind]: entered })} />}</Box>
      </Box>
      {address ? (
        <Box component="address" sx={{ fontStyle: "normal", overflowWrap: "anywhere" }}>
          <div>{address.firstname} {address.lastname}</div>
          <div>{[address.street, address.number, address.complement].filter(Boolean).join(", ")}</div>
          <div>{[address.district, [address.city, address.state].filter(Boolean).join("/")].filter(Boolean).join(", ")}</div>
          <div>{[address.zipcode, address.country].filter(Boolean).join(" ")}</div>
        </Box>
      ) : <Nothing />}
    </Box>
  );
}

export function Notes({ order }: { order: Order }) {
  const translate = useTranslate();
  const edit = mayDo("order_create") && <EditTexts title={translate("order.details")} names={NOTES} read={(each) => pick(each, NOTES)} order={order} write={(entered) => update(order, entered)} />;
  // Those of the staff aren't a vendor's to read.
  if (isRefused("Order", "details")) return <Section title={translate("order.notes")}><Text text={order.notes} /></Section>;
  return (
    <Section title={translate("order.details")} actions={edit}>
      <Text text={order.details ?? ""} />
      {order.notes && <Facts facts={[[translate("order.notes"), <Text key="notes" text={order.notes} />]]} />}
    </Section>
  );
}

function Text({ text }: { text: string }): ReactNode {
  return text ? <Box sx={{ whiteSpace: "pre-wrap", overflowWrap: "anywhere" }}>{text}</Box> : <Nothing />;
}

export function Fiscal({ order }: { order: Order }) {
  const translate = useTranslate();
  const { fiscal_data: data } = order;
  const edit = mayDo("order_set_fiscal_data") && (
    <EditTexts title={translate("order.fiscal")} names={FISCAL} read={(each) => pick(each.fiscal_data, FISCAL)} order={order} write={(entered) => execute(OfficeFiscalDataDocument, { id: order.id, input: nullable(entered) })} />
  );
  const facts = FISCAL.map((name) => [fieldName(name), linked(data[name])] as const);
  return (
    <Section title={translate("order.fiscal")} actions={edit}>
      {facts.some(([, value]) => value) ? <Facts facts={facts} /> : <Nothing />}
      {data.chave_nota_valid === false && <Box role="note" sx={{ color: "warning.main" }}>{translate("order.key_invalid")}</Box>}
    </Section>
  );
}

const nullable = (entered: Values): Values => Object.fromEntries(Object.entries(entered).map(([name, value]) => [name, value || null]));
const linked = (text: string | null) => (text && /^https?:/.test(text) ? <Link href={text} target="_blank" rel="noreferrer">{text}</Link> : text);

export function History({ order }: { order: Order }) {
  const translate = useTranslate();
  return (
    <Section title={translate("order.history")}>
      <Box component="ol" sx={{ listStyle: "none", m: 0, p: 0, display: "grid", gap: 1 }}>
        {order.history.toReversed().map((change, index) => (
          <Box component="li" key={index}>
            <Box sx={{ display: "flex", flexWrap: "wrap", gap: 1 }}>
              {change.from_status ? <><StatusName type="O" letter={change.from_status} /><span aria-hidden>→</span></> : <span>{translate("order.placed")}</span>}
              <StatusName type="O" letter={change.to_status} />
              {change.forced && <span>({translate("order.forced")})</span>}
            </Box>
            {change.reason && <Box sx={{ whiteSpace: "pre-wrap", overflowWrap: "anywhere" }}>{change.reason}</Box>}
            <Box sx={{ color: "text.secondary", fontSize: "0.85rem" }}>
              {time(change.at)} · {change.user?.name || change.user?.email || <Value field={{ name: "actor_kind", kind: "enum", enum: "ActorKind" }} value={change.actor_kind} />}
            </Box>
          </Box>
        ))}
      </Box>
    </Section>
  );
}
