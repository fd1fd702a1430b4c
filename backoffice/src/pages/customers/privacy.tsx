// What a person may ask for by the LGPD: a copy of what the store knows of them, and its erasure.
import Alert from "@mui/material/Alert";
import Button from "@mui/material/Button";
import Typography from "@mui/material/Typography";
import { type RaRecord, useNotify, useTranslate } from "ra-core";
import { TextInput } from "ra-ui-materialui";
import { useState } from "react";
import { mayDo, mayRead } from "../../data/permissions";
import { FormDialog } from "../../derived/form-dialog";
import { OfficeEraseDocument, OfficeEraseGuestDocument, OfficePersonExportDocument } from "../../generated";
import { execute } from "../../graphql/client";
import { useChange } from "../change";
import { Section } from "../orders/parts";

interface Person {
  id?: string;
  email?: string;
}
type Records = Record<string, unknown[]>;

// All pages of an export as one file.
async function exportPerson(person: Person): Promise<void> {
  const all: Records = {};
  let after: string | null = null;
  do {
    const page: { data: unknown; next: string | null } | null = (await execute(OfficePersonExportDocument, { ...person, after })).user_export;
    for (const [name, rows] of Object.entries((page?.data ?? {}) as Records)) all[name] = [...(all[name] ?? []), ...rows];
    after = page?.next ?? null;
  } while (after);
  save("dados-pessoais.json", new Blob([JSON.stringify(all, null, 2)], { type: "application/json" }));
}

function save(name: string, content: Blob): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

function useExport(): { run: (person: Person) => Promise<void>; isRunning: boolean } {
  const notify = useNotify();
  const [isRunning, setRunning] = useState(false);
  const run = async (person: Person) => {
    setRunning(true);
    try {
      await exportPerson(person);
      notify("customer.exported", { type: "success" });
    } catch (error) {
      notify(error instanceof Error ? error.message : String(error), { type: "error" });
    } finally {
      setRunning(false);
    }
  };
  return { run, isRunning };
}

export function Privacy({ user }: { user: RaRecord }) {
  const translate = useTranslate();
  const { run, isRunning } = useExport();
  const change = useChange("user");
  const [isOpen, setOpen] = useState(false);
  const email = typeof user.email === "string" ? user.email : "";
  const text = email || String(user.name);
  // An account without contacts was erased already.
  const canErase = mayDo("user_anonymize") && (email || user.phone || user.cpf);
  if (!mayRead("user_export") || !mayDo("user_anonymize")) return null;
  return (
    <Section title={translate("customer.privacy")}>
      <Typography variant="body2" color="text.secondary">{translate("customer.privacy_help")}</Typography>
      <Button variant="outlined" disabled={isRunning} onClick={() => void run({ id: String(user.id) })}>{translate("customer.export")}</Button>
      {canErase && <Button variant="outlined" color="error" onClick={() => setOpen(true)}>{translate("customer.erase")}</Button>}
      {isOpen && (
        <FormDialog
          title={translate("customer.erase")} values={{ confirmation: "" }} onClose={() => setOpen(false)}
          onSubmit={() => change(() => execute(OfficeEraseDocument, { id: String(user.id) }), "customer.erased")}
        >
          <Alert severity="warning">{translate("customer.erase_warning")}</Alert>
          <TextInput
            source="input.confirmation" label={translate("customer.erase_confirm", { text })} helperText={false} fullWidth isRequired
            validate={(value: unknown) => (value === text ? undefined : "customer.erase_differs")} slotProps={{ htmlInput: { autoComplete: "off" } }}
          />
        </FormDialog>
      )}
    </Section>
  );
}

// The same for who has no account.
export function GuestPrivacy() {
  const translate = useTranslate();
  const [isOpen, setOpen] = useState(false);
  if (!mayDo("guest_anonymize")) return null;
  return (
    <>
      <Button variant="outlined" size="small" onClick={() => setOpen(true)}>{translate("customer.guest")}</Button>
      {isOpen && <GuestDialog onClose={() => setOpen(false)} />}
    </>
  );
}

function GuestDialog({ onClose }: { onClose: () => void }) {
  const translate = useTranslate();
  const { run, isRunning } = useExport();
  const change = useChange("user", "order");
  const [email, setEmail] = useState("");
  const differs = (value: unknown, all: { input?: { email?: string } }) => (value && value === all.input?.email ? undefined : "customer.erase_differs");
  return (
    <FormDialog
      title={translate("customer.guest")} button={translate("customer.erase")} values={{ email: "", again: "" }} onClose={onClose}
      onSubmit={(entered) => change(() => execute(OfficeEraseGuestDocument, { email: String(entered.email) }), "customer.erased")}
    >
      <Typography variant="body2" color="text.secondary">{translate("customer.guest_help")} {translate("customer.privacy_help")}</Typography>
      <TextInput source="input.email" type="email" label="customer.email" helperText={false} fullWidth isRequired onChange={(event: { target: { value: string } }) => setEmail(event.target.value)} />
      <Button variant="outlined" disabled={isRunning || !email.includes("@")} onClick={() => void run({ email: email.trim() })}>{translate("customer.export")}</Button>
      <TextInput source="input.again" type="email" label="customer.email_again" helperText={false} fullWidth validate={differs} slotProps={{ htmlInput: { autoComplete: "off" } }} />
    </FormDialog>
  );
}
