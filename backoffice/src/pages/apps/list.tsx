// Installed apps, and those registered in this store, which are installed from here.
import Alert from "@mui/material/Alert";
import Box from "@mui/material/Box";
import Button from "@mui/material/Button";
import Dialog from "@mui/material/Dialog";
import DialogActions from "@mui/material/DialogActions";
import DialogContent from "@mui/material/DialogContent";
import DialogTitle from "@mui/material/DialogTitle";
import Link from "@mui/material/Link";
import { useQuery } from "@tanstack/react-query";
import { useTranslate } from "ra-core";
import { BooleanInput, TextInput } from "ra-ui-materialui";
import { useId, useState } from "react";
import { mayDo, mayRead } from "../../data/permissions";
import { FormDialog } from "../../derived/form-dialog";
import { EntityList } from "../../derived/list";
import { Value } from "../../derived/value";
import { useEntity } from "../../entities/load";
import { OfficeAppInstallDocument, OfficeAppRegisterDocument, OfficeRegisteredAppsDocument, type OfficeRegisteredAppsQuery } from "../../generated";
import { execute } from "../../graphql/client";
import { useChange } from "../change";
import { Facts, Nothing, Section } from "../orders/parts";
import { chosenScopes, ScopeInputs, scopeValues, SCOPES } from "./scopes";

type App = NonNullable<OfficeRegisteredAppsQuery["registered_apps"]>[number];
type Shown = { name: "secret"; client_id: string; client_secret: string } | { name: "finish"; url: string };

export default function AppList() {
  return <EntityList entity={useEntity("installed_app")}>{mayRead("registered_apps") && <Registered />}</EntityList>;
}

function Registered() {
  const translate = useTranslate();
  const { data: apps } = useQuery({ queryKey: ["installed_app", "registered"], queryFn: async () => (await execute(OfficeRegisteredAppsDocument)).registered_apps ?? [] });
  const [chosen, setChosen] = useState<App | "new" | null>(null);
  const [shown, setShown] = useState<Shown | null>(null);
  const close = () => setChosen(null);
  const register = mayDo("app_register") && <Button size="small" variant="outlined" onClick={() => setChosen("new")}>{translate("apps.register")}</Button>;
  return (
    <Section title={translate("apps.registered")} actions={register}>
      {apps?.length === 0 && <Nothing />}
      {apps?.map((app) => (
        <Box key={app.id} sx={{ display: "flex", flexWrap: "wrap", gap: 1, alignItems: "center" }}>
          <strong>{app.name}</strong>
          <Value field={{ name: "mode", kind: "enum", enum: "AppMode" }} value={app.mode} />
          <Box component="span" sx={{ flex: 1, minWidth: 120, color: "text.secondary", fontSize: "0.85rem", overflowWrap: "anywhere" }}>{app.scopes.join(", ")}</Box>
          {mayDo("app_install") && <Button size="small" variant="contained" onClick={() => setChosen(app)} aria-label={`${translate("apps.install")}: ${app.name}`}>{translate("apps.install")}</Button>}
        </Box>
      ))}
      {chosen === "new" && <RegisterDialog onClose={close} onRegistered={(secret) => setShown({ name: "secret", ...secret })} />}
      {chosen && chosen !== "new" && <InstallDialog app={chosen} onClose={close} onInstalled={(url) => setShown({ name: "finish", url })} />}
      {shown && <Result shown={shown} onClose={() => setShown(null)} />}
    </Section>
  );
}

function RegisterDialog({ onClose, onRegistered }: { onClose: () => void; onRegistered: (secret: { client_id: string; client_secret: string }) => void }) {
  const translate = useTranslate();
  const change = useChange("installed_app");
  return (
    <FormDialog
      title={translate("apps.register")} values={{ name: "", redirect_uri: "", is_test: false, scopes: scopeValues([]) }} onClose={onClose}
      onSubmit={({ name, redirect_uri, is_test, scopes }) =>
        change(async () => {
          const input = { name: String(name ?? ""), redirect_uris: [String(redirect_uri ?? "")], scopes: chosenScopes(scopes), mode: is_test ? ("test" as const) : ("live" as const) };
          const { app_register: app } = await execute(OfficeAppRegisterDocument, { input });
          if (app) onRegistered(app);
        })
      }
    >
      <TextInput source="input.name" label="apps.name" helperText={false} fullWidth isRequired />
      <TextInput source="input.redirect_uri" label="apps.redirect_uri" type="url" helperText={false} fullWidth isRequired />
      <BooleanInput source="input.is_test" label="apps.is_test" helperText={false} />
      <ScopeInputs scopes={SCOPES} />
    </FormDialog>
  );
}

function InstallDialog({ app, onClose, onInstalled }: { app: App; onClose: () => void; onInstalled: (url: string) => void }) {
  const translate = useTranslate();
  const change = useChange("installed_app");
  return (
    <FormDialog
      title={`${translate("apps.install")}: ${app.name}`} button={translate("apps.install")} values={{ scopes: scopeValues(app.scopes) }} onClose={onClose}
      onSubmit={({ scopes }) =>
        change(async () => {
          const { app_install: approval } = await execute(OfficeAppInstallDocument, { client_id: app.client_id, scopes: chosenScopes(scopes), redirect_uri: app.redirect_uris[0] ?? null });
          if (approval) onInstalled(approval.redirect_to);
        }, "apps.installed")
      }
    >
      <Box>{translate("apps.install_help")}</Box>
      <ScopeInputs scopes={app.scopes} />
    </FormDialog>
  );
}

function Result({ shown, onClose }: { shown: Shown; onClose: () => void }) {
  const translate = useTranslate();
  const id = useId();
  return (
    <Dialog open onClose={(_, reason) => reason === "backdropClick" || onClose()} fullWidth maxWidth="sm" aria-labelledby={id}>
      <DialogTitle id={id}>{translate(shown.name === "secret" ? "apps.register" : "apps.installed")}</DialogTitle>
      <DialogContent sx={{ display: "grid", gap: 2 }}>
        {shown.name === "secret" ? (
          <>
            <Alert severity="warning">{translate("apps.secret_once")}</Alert>
            <Facts facts={[[translate("apps.client_id"), <code key="id">{shown.client_id}</code>], [translate("apps.client_secret"), <code key="secret" data-secret>{shown.client_secret}</code>]]} />
          </>
        ) : (
          <>
            <Box>{translate("apps.finish")}</Box>
            {/^https?:/.test(shown.url) && <Link href={shown.url} target="_blank" rel="noreferrer">{translate("apps.open")}</Link>}
          </>
        )}
      </DialogContent>
      <DialogActions><Button onClick={onClose}>{translate("apps.close")}</Button></DialogActions>
    </Dialog>
  );
}
