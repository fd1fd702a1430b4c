// One order, as it is worked with at the packing table: a page for a phone, a desk and a printer.
import Alert from "@mui/material/Alert";
import Box from "@mui/material/Box";
import Button from "@mui/material/Button";
import { useTranslate } from "ra-core";
import { useState } from "react";
import { useParams } from "react-router-dom";
import { mayDo } from "../../data/permissions";
import { StatusName, Value } from "../../derived/value";
import { time } from "../../format";
import { useSession } from "../../shell/context";
import NotFound from "../../shell/not-found";
import { Page } from "../../shell/page";
import { Waiting } from "../../shell/waiting";
import { nextStatuses, type Order, useOrder, useOrderStatuses } from "./data";
import { Customer, Fiscal, History, Notes } from "./details";
import { Lines } from "./lines";
import { Payments } from "./payments";
import { Shipments } from "./shipments";
import { StatusDialog } from "./status";

export default function OrderPage() {
  const { id = "" } = useParams();
  const { data: order, error } = useOrder(id);
  if (order) return <Shown key={order.id} order={order} />;
  if (error) return <Alert severity="error">{error.message}</Alert>;
  return order === null ? <NotFound /> : <Waiting />;
}

function Shown({ order }: { order: Order }) {
  const translate = useTranslate();
  const { me } = useSession();
  const next = nextStatuses(useOrderStatuses(), order.status, me.role === "vendor");
  const [isOpen, setOpen] = useState(false);
  const actions = (
    <Box className="no-print" sx={{ display: "flex", flexWrap: "wrap", gap: 1 }}>
      {mayDo("order_set_status") && <Button variant="contained" onClick={() => setOpen(true)}>{translate("order.set_status")}</Button>}
      <Button variant="outlined" onClick={() => window.print()}>{translate("order.print")}</Button>
    </Box>
  );
  return (
    <Page title={translate("order.title", { number: order.number })} actions={actions}>
      <Box sx={{ display: "flex", flexWrap: "wrap", gap: 2, alignItems: "center" }}>
        <StatusName type="O" letter={order.status} />
        <Value field={{ name: "payment_status", kind: "enum", enum: "PaymentStatus" }} value={order.payment_status} />
        <span>{time(order.created_at)}</span>
        <Box component="span" sx={{ color: "text.secondary" }}>{[order.payment_method?.name, order.shipping_method?.name, order.delivery_time].filter(Boolean).join(" · ")}</Box>
      </Box>
      <Box sx={{ display: "grid", gap: 2, alignItems: "start", gridTemplateColumns: { xs: "minmax(0, 1fr)", lg: "minmax(0, 3fr) minmax(0, 2fr)" } }}>
        <Box sx={{ display: "grid", gap: 2, gridTemplateColumns: "minmax(0, 1fr)" }}>
          <Lines order={order} />
          <Shipments order={order} next={next} />
          <Payments order={order} />
        </Box>
        <Box sx={{ display: "grid", gap: 2, gridTemplateColumns: "minmax(0, 1fr)" }}>
          <Customer order={order} />
          <Notes order={order} />
          <Fiscal order={order} />
          <History order={order} />
        </Box>
      </Box>
      {isOpen && <StatusDialog orders={[order]} choices={next} onClose={() => setOpen(false)} />}
    </Page>
  );
}
