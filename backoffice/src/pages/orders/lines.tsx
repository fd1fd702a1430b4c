// The lines of an order with its totals, and the change of lines while the order may be changed.
import Alert from "@mui/material/Alert";
import Box from "@mui/material/Box";
import Button from "@mui/material/Button";
import Link from "@mui/material/Link";
import { useTranslate } from "ra-core";
import { AutocompleteInput, ReferenceInput } from "ra-ui-materialui";
import { useState } from "react";
import { useFieldArray } from "react-hook-form";
import { mayDo } from "../../data/permissions";
import type { Values } from "../../data/values";
import { FormDialog } from "../../derived/form-dialog";
import { NumericInput } from "../../derived/number-input";
import { OptionInputs } from "../../derived/option-inputs";
import { money, number } from "../../format";
import { OfficeOrderDocument, OfficeOrderUpdateDocument } from "../../generated";
import { execute } from "../../graphql/client";
import { useSession } from "../../shell/context";
import { canChangeLines, type Order, useChange } from "./data";
import { cents, Facts, MoneyInput, Section } from "./parts";

type Line = Order["items"][number];

export function Lines({ order }: { order: Order }) {
  const translate = useTranslate();
  const [isOpen, setOpen] = useState(false);
  const action = mayDo("order_update") && canChangeLines(order) && <Button variant="outlined" size="small" onClick={() => setOpen(true)}>{translate("order.edit_lines")}</Button>;
  return (
    <Section title={translate("order.lines")} actions={action}>
      <Box component="ul" sx={{ listStyle: "none", m: 0, p: 0 }}>
        {order.items.map((line) => <LineRow key={line.id} line={line} currency={order.currency} />)}
      </Box>
      <Warehouses order={order} />
      <Totals order={order} />
      {isOpen && <EditLines order={order} onClose={() => setOpen(false)} />}
    </Section>
  );
}

function LineRow({ line, currency }: { line: Line; currency: string }) {
  const translate = useTranslate();
  const chosen = line.options.filter(({ file }) => !file).map(({ name, value }) => `${name}: ${value}`).join(", ");
  return (
    <Box component="li" sx={{ display: "grid", gridTemplateColumns: "3.5rem minmax(0, 1fr) auto", columnGap: 1.5, py: 1, borderTop: "1px solid", borderColor: "divider", "&:first-of-type": { borderTop: 0 } }}>
      <Box sx={{ fontSize: "1.15rem", fontWeight: 650 }}>{number(line.quantity)} ×</Box>
      <Box sx={{ overflowWrap: "anywhere" }}>
        {line.name}
        <Box sx={{ color: "text.secondary", fontSize: "0.85rem" }}>
          {[line.sku, chosen, line.shipped_quantity ? translate("order.shipped", { count: line.shipped_quantity }) : ""].filter(Boolean).join(" · ")}
        </Box>
        {line.options.map(({ name, value, file }) => file && <Link key={name} href={file.url} sx={{ display: "block", fontSize: "0.85rem" }}>{name}: {value}</Link>)}
      </Box>
      <Box sx={{ textAlign: "right", whiteSpace: "nowrap" }}>
        {money(line.total_cents, currency)}
        {line.quantity !== 1 && <Box sx={{ color: "text.secondary", fontSize: "0.85rem" }}>{money(line.price_cents, currency)}</Box>}
      </Box>
    </Box>
  );
}

// Where the units are, of products whose stock is divided among warehouses.
function Warehouses({ order }: { order: Order }) {
  const translate = useTranslate();
  const allocations = order.allocations ?? [];
  if (!allocations.length) return null;
  const names = new Map(allocations.map(({ warehouse_id, warehouse_name }) => [warehouse_id, warehouse_name]));
  return (
    <Box role="group" aria-label={translate("order.warehouses")} sx={{ fontSize: "0.92rem" }}>
      {[...names].map(([id, warehouse]) => (
        <div key={id}>
          {translate("order.warehouses")} <strong>{warehouse}</strong>: {allocations.filter((each) => each.warehouse_id === id).map(({ name, quantity }) => `${number(quantity)} × ${name}`).join(", ")}
        </div>
      ))}
    </Box>
  );
}

function Totals({ order }: { order: Order }) {
  const translate = useTranslate();
  const amount = (value: number) => (value ? money(value, order.currency) : "");
  return (
    <Facts
      facts={[
        [translate("order.subtotal"), money(order.subtotal_cents, order.currency)],
        [translate("order.discount"), amount(-order.discount_cents)],
        [translate("order.coupon"), order.coupon_code],
        [translate("order.points"), order.points_spent ? number(order.points_spent) : ""],
        [translate("order.shipping"), money(order.shipping_cents, order.currency)],
        [translate("order.surcharge"), amount(order.surcharge_cents)],
        [translate("order.tax"), amount(order.tax_cents)],
        [translate("order.total"), <strong key="total">{money(order.total_cents, order.currency)}</strong>],
        [translate("order.refunded"), amount(order.refunded_cents)],
      ]}
    />
  );
}

interface EditedLine {
  product_id: string | null;
  quantity: number | null;
  price: number | string | null;
  options?: Values;
  // The line that it was, if any.
  line?: Line;
}

const edited = (order: Order): { items: EditedLine[] } => ({
  items: order.items.map((line) => ({ product_id: line.product_id, quantity: line.quantity, price: line.price_cents, line })),
});

function EditLines({ order, onClose }: { order: Order; onClose: () => void }) {
  const translate = useTranslate();
  const change = useChange();
  const [values] = useState(() => edited(order));
  const fresh = {
    fields: [{ name: "items", kind: "text", isList: true }] as const,
    read: async () => edited((await execute(OfficeOrderDocument, { id: order.id })).order ?? order),
    show: ({ items }: Values) => ({ items: (items as EditedLine[]).map(({ line, quantity, price }) => `${number(quantity)} × ${line?.name ?? "…"} ${money(cents(price), order.currency)}`) }),
  };
  const submit = (input: Values) => change(() => execute(OfficeOrderUpdateDocument, { id: order.id, input: { items: (input.items as EditedLine[]).map(written) } }));
  return (
    <FormDialog title={translate("order.edit_lines")} button={translate("ra.action.save")} maxWidth="md" values={values} fresh={fresh} onSubmit={submit} onClose={onClose}>
      <LineInputs />
    </FormDialog>
  );
}

// A line that is there keeps its choices, and its price unless another was entered. One that stays needs no product, which may be deleted.
function written({ product_id, quantity, price, options, line }: EditedLine) {
  const entered = cents(price);
  const isPriced = entered !== null && entered !== line?.price_cents;
  if (line && quantity === line.quantity && !isPriced) return { id: line.id, quantity };
  return {
    product_id,
    quantity: quantity ?? 0,
    ...(isPriced ? { price_cents: entered } : {}),
    ...(options ? { options } : {}),
    ...(line?.options.length ? { options: Object.fromEntries(line.options.map((option) => [option.option_id, option.variant_id ?? option.value])) } : {}),
    ...(line?.extra ? { extra: line.extra } : {}),
  };
}

function LineInputs() {
  const translate = useTranslate();
  // A vendor sets no prices.
  const { me } = useSession();
  const { fields, append, remove } = useFieldArray({ name: "input.items" });
  const rows = fields as (EditedLine & { id: string })[];
  return (
    <>
      {rows.map(({ id, line }, index) => {
        const source = `input.items.${index}`;
        return (
          <Box key={id} role="group" aria-label={line?.name ?? translate("order.add_line")} sx={{ display: "grid", gap: 1, alignItems: "start", gridTemplateColumns: { xs: "1fr 1fr", sm: "minmax(0, 1fr) 7rem 9rem auto" }, borderBottom: "1px solid", borderColor: "divider", pb: 1 }}>
            <Box sx={{ gridColumn: { xs: "1 / -1", sm: "auto" }, minWidth: 0, alignSelf: "center" }}>{line ? <LineName line={line} /> : <><ProductInput source={`${source}.product_id`} /><OptionInputs source={`${source}.options`} /></>}</Box>
            <NumericInput source={`${source}.quantity`} label="order.quantity" helperText={false} fullWidth />
            {me.role === "admin" ? <MoneyInput source={`${source}.price`} label={translate("order.price")} /> : <span />}
            <Button sx={{ mt: 1 }} color="error" onClick={() => remove(index)} aria-label={`${translate("order.remove_line")} ${line?.name ?? ""}`}>{translate("order.remove_line")}</Button>
          </Box>
        );
      })}
      {!rows.length && <Alert severity="warning">{translate("ra.validation.required")}</Alert>}
      <Button onClick={() => append({ product_id: null, quantity: 1, price: null })} sx={{ justifySelf: "start" }}>{translate("order.add_line")}</Button>
    </>
  );
}

function LineName({ line }: { line: Line }) {
  return <>{line.name} <Box component="span" sx={{ color: "text.secondary", fontSize: "0.85rem" }}>{line.sku}</Box></>;
}

function ProductInput({ source }: { source: string }) {
  return (
    <ReferenceInput source={source} reference="product" perPage={25} sort={{ field: "name", order: "ASC" }}>
      <AutocompleteInput label="order.product" optionText="name" filterToQuery={(text: string) => (text ? { search: text } : {})} helperText={false} fullWidth validate={(value: unknown) => (value ? undefined : "ra.validation.required")} />
    </ReferenceInput>
  );
}
