// One installed app: what it may do, its webhooks, and what was delivered to them.
import Alert from "@mui/material/Alert";
import Box from "@mui/material/Box";
import Button from "@mui/material/Button";
import Chip from "@mui/material/Chip";
import { useQuery } from "@tanstack/react-query";
import { useTranslate } from "ra-core";
import { useState } from "react";
import { useNavigate, useParams } from "react-router-dom";
import { mayDo } from "../../data/permissions";
import { FormDialog } from "../../derived/form-dialog";
import { NumericInput } from "../../derived/number-input";
import { Value } from "../../derived/value";
import { number, time } from "../../format";
import { OfficeAppDocument, type OfficeAppQuery, OfficeAppUninstallDocument, OfficeAppUpdateDocument } from "../../generated";
import { execute } from "../../graphql/client";
import NotFound from "../../shell/not-found";
import { Page } from "../../shell/page";
import { Waiting } from "../../shell/waiting";
import { useChange } from "../change";
import { Facts, Section } from "../orders/parts";
import { Endpoints } from "./endpoints";
import { chosenScopes, ScopeInputs, scopeName, scopeValues } from "./scopes";

type App = NonNullable<OfficeAppQuery["installed_app"]>;
type Dialog = "change" | "uninstall";

export default function AppPage() {
  const { id = "" } = useParams();
  const { data, error, isPending } = useQuery({ queryKey: ["installed_app", "page", id], queryFn: () => execute(OfficeAppDocument, { id }) });
  if (isPending) return <Waiting />;
  if (error) return <Alert severity="error">{error.message}</Alert>;
  if (!data?.installed_app) return <NotFound />;
  return <Shown app={data.installed_app} endpoints={data.event_endpoint_page?.items ?? []} />;
}

function Shown({ app, endpoints }: { app: App; endpoints: NonNullable<OfficeAppQuery["event_endpoint_page"]>["items"] }) {
  const translate = useTranslate();
  const [dialog, setDialog] = useState<Dialog | null>(null);
  const close = () => setDialog(null);
  const actions = (
    <Box sx={{ display: "flex", flexWrap: "wrap", gap: 1 }}>
      {mayDo("app_uninstall") && <Button variant="outlined" color="error" onClick={() => setDialog("uninstall")}>{translate("apps.uninstall")}</Button>}
    </Box>
  );
  const change = mayDo("installed_app_update") && <Button size="small" onClick={() => setDialog("change")}>{translate("apps.change")}</Button>;
  return (
    <Page title={app.name} actions={actions}>
      <Section title={translate("apps.scopes")} actions={change}>
        <Box sx={{ display: "flex", flexWrap: "wrap", gap: 1 }}>{app.scopes.map((scope) => <Chip key={scope} label={scopeName(scope)} />)}</Box>
        <Facts
          facts={[
            [translate("apps.client_id"), app.client_id],
            [translate("apps.rate_limit"), number(app.rate_limit)],
            [translate("apps.is_test"), app.mode === "test" && <Value key="mode" field={{ name: "mode", kind: "enum", enum: "AppMode" }} value={app.mode} />],
            [translate("apps.installed"), time(app.installed_at)],
          ]}
        />
      </Section>
      <Endpoints app={app.id} endpoints={endpoints} />
      {dialog === "change" && <ChangeDialog app={app} onClose={close} />}
      {dialog === "uninstall" && <UninstallDialog app={app} onClose={close} />}
    </Page>
  );
}

function ChangeDialog({ app, onClose }: { app: App; onClose: () => void }) {
  const translate = useTranslate();
  const change = useChange("installed_app");
  return (
    <FormDialog
      title={translate("apps.change")} button={translate("ra.action.save")} values={{ scopes: scopeValues(app.scopes), rate_limit: app.rate_limit }} onClose={onClose}
      onSubmit={({ scopes, rate_limit }) => change(() => execute(OfficeAppUpdateDocument, { id: app.id, input: { scopes: chosenScopes(scopes), ...(rate_limit === app.rate_limit ? {} : { rate_limit: Number(rate_limit) }) } }))}
    >
      <Box>{translate("apps.change_help")}</Box>
      <ScopeInputs scopes={app.scopes} />
      <NumericInput source="input.rate_limit" label="apps.rate_limit" helperText={false} fullWidth />
    </FormDialog>
  );
}

function UninstallDialog({ app, onClose }: { app: App; onClose: () => void }) {
  const translate = useTranslate();
  const change = useChange("installed_app", "event_endpoint");
  const navigate = useNavigate();
  const submit = async () => {
    await change(() => execute(OfficeAppUninstallDocument, { id: app.id }), "apps.uninstalled");
    void navigate("/installed_app");
  };
  return (
    <FormDialog title={`${translate("apps.uninstall")}: ${app.name}`} button={translate("apps.uninstall")} values={{}} onSubmit={submit} onClose={onClose}>
      <Box>{translate("apps.uninstall_help")}</Box>
    </FormDialog>
  );
}
