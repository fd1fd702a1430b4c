// The webhooks of an app, and what is done with one: test, switch, send the events of a period again, delete.
import Box from "@mui/material/Box";
import Button from "@mui/material/Button";
import { useNotify, useTranslate } from "ra-core";
import { TextInput } from "ra-ui-materialui";
import { useState } from "react";
import { mayDo } from "../../data/permissions";
import { FormDialog } from "../../derived/form-dialog";
import { FieldInput } from "../../derived/input";
import { Value } from "../../derived/value";
import { time } from "../../format";
import {
  OfficeEndpointCreateDocument, OfficeEndpointDeleteDocument, OfficeEndpointPingDocument, OfficeEndpointUpdateDocument, type OfficeAppQuery, OfficeReplayDocument,
} from "../../generated";
import { execute } from "../../graphql/client";
import { useChange, usePress } from "../change";
import { Nothing, Section } from "../orders/parts";
import { Deliveries } from "./deliveries";

type Endpoint = NonNullable<OfficeAppQuery["event_endpoint_page"]>["items"][number];
const RELOADED = ["installed_app", "event_endpoint", "event_delivery"];

export function Endpoints({ app, endpoints }: { app: string; endpoints: readonly Endpoint[] }) {
  const translate = useTranslate();
  const [isNew, setNew] = useState(false);
  const add = mayDo("event_endpoint_create") && <Button size="small" variant="outlined" onClick={() => setNew(true)}>{translate("apps.add_endpoint")}</Button>;
  return (
    <Section title={translate("apps.endpoints")} actions={add}>
      {!endpoints.length && <Nothing />}
      {endpoints.map((endpoint) => <EndpointRow key={endpoint.id} endpoint={endpoint} />)}
      {isNew && <NewEndpoint app={app} onClose={() => setNew(false)} />}
    </Section>
  );
}

function NewEndpoint({ app, onClose }: { app: string; onClose: () => void }) {
  const translate = useTranslate();
  const change = useChange(...RELOADED);
  return (
    <FormDialog
      title={translate("apps.add_endpoint")} button={translate("ra.action.save")} values={{ url: "", events: "" }} onClose={onClose}
      onSubmit={({ url, events }, key) =>
        change(() => execute(OfficeEndpointCreateDocument, { input: { installed_app_id: app, url: String(url ?? ""), events: String(events ?? "").split(/[\s,;]+/).filter(Boolean) } }, key))
      }
    >
      <TextInput source="input.url" type="url" label="apps.url" helperText={false} fullWidth isRequired />
      <TextInput source="input.events" label="apps.events" helperText={false} fullWidth multiline minRows={2} isRequired />
    </FormDialog>
  );
}

type Chosen = "replay" | "delete";

function EndpointRow({ endpoint }: { endpoint: Endpoint }) {
  const translate = useTranslate();
  const change = useChange(...RELOADED);
  const press = usePress(...RELOADED);
  const [chosen, setChosen] = useState<Chosen | null>(null);
  const isOn = endpoint.status === "A";
  const state = [
    endpoint.last_success_at && translate("apps.last_success", { time: time(endpoint.last_success_at) }),
    endpoint.failing_since && translate("apps.failing", { time: time(endpoint.failing_since) }),
    endpoint.disabled_reason,
  ];
  return (
    <Box data-endpoint sx={{ display: "grid", gap: 1, gridTemplateColumns: "minmax(0, 1fr)", pb: 1.5, borderBottom: "1px solid", borderColor: "divider" }}>
      <Box sx={{ display: "flex", flexWrap: "wrap", gap: 1, alignItems: "center" }}>
        <Box component="strong" sx={{ overflowWrap: "anywhere" }}>{endpoint.url}</Box>
        <Value field={{ name: "status", kind: "enum", enum: "SwitchStatus" }} value={endpoint.status} />
      </Box>
      <Box sx={{ color: "text.secondary", fontSize: "0.85rem", overflowWrap: "anywhere" }}>{[endpoint.events.join(", "), ...state].filter(Boolean).join(" · ")}</Box>
      <Box sx={{ display: "flex", flexWrap: "wrap", gap: 1 }}>
        {mayDo("event_endpoint_ping") && <Button size="small" variant="outlined" disabled={!isOn} onClick={() => press(() => execute(OfficeEndpointPingDocument, { id: endpoint.id }), "apps.pinged")}>{translate("apps.ping")}</Button>}
        {mayDo("event_endpoint_replay") && <Button size="small" variant="outlined" onClick={() => setChosen("replay")}>{translate("apps.replay")}</Button>}
        {mayDo("event_endpoint_update") && <Button size="small" onClick={() => press(() => execute(OfficeEndpointUpdateDocument, { id: endpoint.id, input: { status: isOn ? "D" : "A" } }))}>{translate(isOn ? "apps.disable" : "apps.enable")}</Button>}
        {mayDo("event_endpoint_delete") && <Button size="small" color="error" onClick={() => setChosen("delete")}>{translate("apps.delete")}</Button>}
      </Box>
      <Deliveries endpoint={endpoint.id} />
      {chosen === "replay" && <ReplayDialog endpoint={endpoint} onClose={() => setChosen(null)} />}
      {chosen === "delete" && (
        <FormDialog title={translate("apps.delete")} values={{}} onClose={() => setChosen(null)} onSubmit={() => change(() => execute(OfficeEndpointDeleteDocument, { id: endpoint.id }))}>
          <Box sx={{ overflowWrap: "anywhere" }}>{endpoint.url}: {translate("apps.delete_help")}</Box>
        </FormDialog>
      )}
    </Box>
  );
}

function ReplayDialog({ endpoint, onClose }: { endpoint: Endpoint; onClose: () => void }) {
  const translate = useTranslate();
  const notify = useNotify();
  const change = useChange(...RELOADED);
  const [values] = useState({ since: new Date(Date.now() - 86_400_000).toISOString(), until: null });
  return (
    <FormDialog
      title={translate("apps.replay")} values={values} onClose={onClose}
      onSubmit={({ since, until }) =>
        change(async () => {
          if (!since) throw new Error(translate("apps.since_required"));
          const { event_endpoint_replay: answer } = await execute(OfficeReplayDocument, { id: endpoint.id, since: String(since), until: until ? String(until) : null });
          notify("apps.replayed", { type: "success", messageArgs: { count: answer?.replayed ?? 0 } });
        })
      }
    >
      <Box>{translate("apps.replay_help")}</Box>
      <FieldInput field={{ name: "since", kind: "time" }} source="input.since" />
      <FieldInput field={{ name: "until", kind: "time" }} source="input.until" />
    </FormDialog>
  );
}
