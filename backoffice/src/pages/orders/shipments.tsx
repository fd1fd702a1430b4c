// The shipments of an order: what was sent, where it is, and a new one of chosen units.
import Box from "@mui/material/Box";
import Button from "@mui/material/Button";
import Link from "@mui/material/Link";
import { useTranslate } from "ra-core";
import { SelectInput, TextInput } from "ra-ui-materialui";
import { useState } from "react";
import { Link as RouterLink } from "react-router-dom";
import { mayDo } from "../../data/permissions";
import type { Values } from "../../data/values";
import { FormDialog } from "../../derived/form-dialog";
import { NumericInput } from "../../derived/number-input";
import { StatusName } from "../../derived/value";
import { time } from "../../format";
import { OfficeShipmentCreateDocument, OfficeShipmentUpdateDocument } from "../../generated";
import { execute } from "../../graphql/client";
import { type Order, type OrderStatus, useChange } from "./data";
import { Nothing, Section } from "./parts";

type Shipment = Order["shipments"][number];

interface Props {
  order: Order;
  next: readonly OrderStatus[];
}

const toShip = (line: Order["items"][number]) => line.quantity - line.shipped_quantity;

export function Shipments({ order, next }: Props) {
  const translate = useTranslate();
  const [isNew, setNew] = useState(false);
  const [edited, setEdited] = useState<Shipment | null>(null);
  const isOpen = order.items.some((line) => toShip(line) > 0);
  const ship = mayDo("shipment_create") && isOpen && <Button variant="contained" size="small" onClick={() => setNew(true)}>{translate("order.ship")}</Button>;
  return (
    <Section title={translate("order.shipments")} actions={ship}>
      {!order.shipments.length && <Nothing />}
      {order.shipments.map((shipment) => <ShipmentRow key={shipment.id} shipment={shipment} onEdit={() => setEdited(shipment)} />)}
      {isNew && <NewShipment order={order} next={next} onClose={() => setNew(false)} />}
      {edited && <EditShipment shipment={edited} onClose={() => setEdited(null)} />}
    </Section>
  );
}

function ShipmentRow({ shipment, onEdit }: { shipment: Shipment; onEdit: () => void }) {
  const translate = useTranslate();
  const label = shipment.label_url && /^https?:/.test(shipment.label_url) ? shipment.label_url : "";
  return (
    <Box sx={{ display: "grid", gap: 0.5 }}>
      <Box sx={{ display: "flex", flexWrap: "wrap", gap: 1, alignItems: "center" }}>
        <StatusName type="S" letter={shipment.status} />
        <Link component={RouterLink} to={`/shipment/${shipment.id}`}>{[shipment.carrier, shipment.tracking_number].filter(Boolean).join(" ") || time(shipment.created_at)}</Link>
        <Box sx={{ flex: 1 }} />
        {label && <Button className="no-print" size="small" href={label} target="_blank" rel="noreferrer">{translate("order.label")}</Button>}
        {mayDo("shipment_update") && <Button className="no-print" size="small" onClick={onEdit} aria-label={`${translate("order.edit")} ${shipment.tracking_number || shipment.carrier}`}>{translate("order.edit")}</Button>}
      </Box>
      <Box sx={{ fontSize: "0.9rem", color: "text.secondary" }}>
        {time(shipment.created_at)} · {shipment.lines.map(({ quantity, line }) => `${quantity} × ${line?.name ?? ""}`).join(", ")} {shipment.comments}
      </Box>
      {shipment.tracking_events.length > 0 && (
        <Box component="ol" sx={{ m: 0, pl: 2.5, fontSize: "0.85rem" }}>
          {shipment.tracking_events.map((event, index) => <li key={index}>{time(event.occurred_at)} {event.description} {event.location}</li>)}
        </Box>
      )}
    </Box>
  );
}

function NewShipment({ order, next, onClose }: Props & { onClose: () => void }) {
  const translate = useTranslate();
  const change = useChange();
  const lines = order.items.filter((line) => toShip(line) > 0);
  const values = { lines: lines.map((line) => ({ line_id: line.id, quantity: toShip(line) })), carrier: "", tracking_number: "", comments: "", order_status: "" };
  const submit = (input: Values, key: string) => {
    const chosen = (input.lines as { line_id: string; quantity: number | null }[]).filter(({ quantity }) => (quantity ?? 0) > 0);
    const { carrier, tracking_number, comments, order_status } = input as Record<string, string | null>;
    const text = { carrier: carrier ?? "", tracking_number: tracking_number ?? "", comments: comments ?? "" };
    const method = order.shipping_method ? { shipping_method_id: order.shipping_method.id } : {};
    const status = order_status ? { order_status } : {};
    return change(() => execute(OfficeShipmentCreateDocument, { input: { order_id: order.id, ...text, ...method, ...status, lines: chosen.map(({ line_id, quantity }) => ({ line_id, quantity: quantity ?? 0 })) } }, key));
  };
  return (
    <FormDialog title={translate("order.ship_title")} button={translate("order.ship")} values={values} onSubmit={submit} onClose={onClose}>
      {lines.map((line, index) => (
        <NumericInput key={line.id} source={`input.lines.${index}.quantity`} label={translate("order.ship_of", { name: line.name, count: toShip(line) })} helperText={line.sku || false} fullWidth />
      ))}
      <TextInput source="input.carrier" label="order.carrier" helperText={false} fullWidth />
      <TextInput source="input.tracking_number" label="order.tracking" helperText={false} fullWidth slotProps={{ htmlInput: { autoCapitalize: "characters", autoComplete: "off" } }} />
      <TextInput source="input.comments" label="order.comments" helperText={false} fullWidth />
      <SelectInput source="input.order_status" label="order.new_status" helperText={false} fullWidth translateChoice={false} choices={next.map(({ letter, description }) => ({ id: letter, name: description }))} />
    </FormDialog>
  );
}

function EditShipment({ shipment, onClose }: { shipment: Shipment; onClose: () => void }) {
  const translate = useTranslate();
  const change = useChange();
  const { carrier, tracking_number, comments } = shipment;
  return (
    <FormDialog
      title={translate("order.tracking")} button={translate("ra.action.save")} values={{ carrier, tracking_number, comments }} onClose={onClose}
      onSubmit={(input) => change(() => execute(OfficeShipmentUpdateDocument, { id: shipment.id, input: Object.fromEntries(Object.entries(input).map(([name, value]) => [name, value ?? ""])) }))}
    >
      <TextInput source="input.carrier" label="order.carrier" helperText={false} fullWidth />
      <TextInput source="input.tracking_number" label="order.tracking" helperText={false} fullWidth />
      <TextInput source="input.comments" label="order.comments" helperText={false} fullWidth />
    </FormDialog>
  );
}
