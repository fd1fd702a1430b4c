// What was delivered to a webhook, newest first; one that failed is delivered again.
import Box from "@mui/material/Box";
import Button from "@mui/material/Button";
import FormControlLabel from "@mui/material/FormControlLabel";
import Link from "@mui/material/Link";
import Switch from "@mui/material/Switch";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useTranslate } from "ra-core";
import { useState } from "react";
import { Link as RouterLink } from "react-router-dom";
import { mayDo, mayRead } from "../../data/permissions";
import { Value } from "../../derived/value";
import { number, time } from "../../format";
import { OfficeDeliveriesDocument, OfficeRedeliverDocument, type OfficeDeliveriesQuery } from "../../generated";
import { execute } from "../../graphql/client";
import { usePress } from "../change";
import { Nothing } from "../orders/parts";

type Delivery = NonNullable<OfficeDeliveriesQuery["event_delivery_page"]>["items"][number];

const REFRESH_MS = 10_000;

export function Deliveries({ endpoint }: { endpoint: string }) {
  const translate = useTranslate();
  const [isFailed, setFailed] = useState(false);
  const { data } = useQuery({
    queryKey: ["event_delivery", "of", endpoint, isFailed],
    queryFn: async () => (await execute(OfficeDeliveriesDocument, { endpoint_id: endpoint, state: isFailed ? ["failed", "dead"] : null })).event_delivery_page,
    enabled: mayRead("event_delivery_page"),
    refetchInterval: REFRESH_MS,
    placeholderData: keepPreviousData,
  });
  if (!data) return null;
  const filter = encodeURIComponent(JSON.stringify({ endpoint_id: endpoint }));
  return (
    <Box sx={{ display: "grid", gap: 0.5, gridTemplateColumns: "minmax(0, 1fr)" }}>
      <FormControlLabel control={<Switch checked={isFailed} onChange={(_, checked) => setFailed(checked)} />} label={translate("apps.failed_only")} />
      {!data.items.length && <Nothing />}
      <Box component="ol" sx={{ listStyle: "none", m: 0, p: 0, display: "grid", gap: 1 }}>
        {data.items.map((delivery) => <DeliveryRow key={delivery.id} delivery={delivery} />)}
      </Box>
      {data.total > data.items.length && <Button component={RouterLink} to={`/event_delivery?filter=${filter}`}>{translate("vendor.all", { count: number(data.total) })}</Button>}
    </Box>
  );
}

function DeliveryRow({ delivery }: { delivery: Delivery }) {
  const translate = useTranslate();
  const press = usePress("event_delivery", "home");
  const redeliver = () => press(() => execute(OfficeRedeliverDocument, { id: delivery.id }), "apps.redelivered");
  const details = [time(delivery.created_at), translate("apps.tries", { smart_count: delivery.tries }), delivery.last_status, delivery.last_error];
  return (
    <Box component="li" data-delivery={delivery.state} sx={{ display: "flex", flexWrap: "wrap", gap: 1, alignItems: "center" }}>
      <Link component={RouterLink} to={`/event_delivery/${delivery.id}`}>{delivery.event}</Link>
      <Value field={{ name: "state", kind: "enum", enum: "DeliveryState" }} value={delivery.state} />
      <Box component="span" sx={{ flex: 1, minWidth: 140, color: "text.secondary", fontSize: "0.85rem", overflowWrap: "anywhere" }}>{details.filter(Boolean).join(" · ")}</Box>
      {mayDo("event_delivery_redeliver") && <Button size="small" onClick={redeliver} aria-label={`${translate("apps.redeliver")}: ${delivery.event} ${time(delivery.created_at)}`}>{translate("apps.redeliver")}</Button>}
    </Box>
  );
}
