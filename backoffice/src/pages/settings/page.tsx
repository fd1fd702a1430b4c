// The settings of the store by section: what each is set to, and a form of a section's settings by their types.
import Alert from "@mui/material/Alert";
import Box from "@mui/material/Box";
import Button from "@mui/material/Button";
import TextField from "@mui/material/TextField";
import { useQuery } from "@tanstack/react-query";
import { useTranslate } from "ra-core";
import { BooleanInput, PasswordInput, SelectInput, TextInput } from "ra-ui-materialui";
import { useState } from "react";
import { mayDo } from "../../data/permissions";
import type { Values } from "../../data/values";
import { FormDialog } from "../../derived/form-dialog";
import { NumericInput } from "../../derived/number-input";
import { number } from "../../format";
import { OfficeSettingsDocument, type OfficeSettingsQuery, OfficeSettingUpdateDocument } from "../../generated";
import { execute } from "../../graphql/client";
import { ServerError } from "../../graphql/errors";
import { Page } from "../../shell/page";
import { Waiting } from "../../shell/waiting";
import { entityName, fieldName, locale } from "../../texts";
import { useChange } from "../change";
import { Nothing, Section } from "../orders/parts";
import { SETTING_NAMES } from "./names";

type Setting = NonNullable<OfficeSettingsQuery["setting_page"]>["items"][number];

const FIRST = ["general", "mails", "checkout", "payments", "catalog", "people", "marketplace", "apps"];
const CHECKBOX = "C";
const CHOICE = "S";
const NUMBER = "U";
const SECRET = "P";

const NAMED = Object.keys(SETTING_NAMES);

const place = ({ name }: Setting) => (NAMED.includes(name) ? NAMED.indexOf(name) : NAMED.length);
const load = async () => ((await execute(OfficeSettingsDocument)).setting_page?.items ?? []).toSorted((one, other) => place(one) - place(other));
const nameOf = ({ name }: Setting) => (locale() === "pt-BR" && SETTING_NAMES[name]) || fieldName(name);
const fold = (text: string) => text.normalize("NFD").replaceAll(/\p{M}/gu, "").toLowerCase();

export default function Settings() {
  const translate = useTranslate();
  const { data: settings, error } = useQuery({ queryKey: ["setting", "page"], queryFn: load });
  const [search, setSearch] = useState("");
  if (error) return <Alert severity="error">{error.message}</Alert>;
  if (!settings) return <Waiting />;
  const shown = settings.filter((setting) => fold(`${setting.name} ${nameOf(setting)} ${setting.description}`).includes(fold(search.trim())));
  const rank = (section: string) => (FIRST.includes(section) ? FIRST.indexOf(section) : FIRST.length);
  const sections = [...new Set(shown.map(({ section }) => section))].toSorted((one, other) => rank(one) - rank(other));
  return (
    <Page title={entityName("setting")}>
      <TextField label={translate("ra.action.search")} value={search} onChange={(event) => setSearch(event.target.value)} name="search" type="search" sx={{ maxWidth: 320 }} />
      {!sections.length && <Nothing text="ra.navigation.no_results" />}
      {sections.map((section) => <SettingsOf key={section} section={section} settings={shown.filter((each) => each.section === section)} />)}
    </Page>
  );
}

function SettingsOf({ section, settings }: { section: string; settings: readonly Setting[] }) {
  const translate = useTranslate();
  const [edited, setEdited] = useState<readonly Setting[] | null>(null);
  const title = translate(`setting.${section}`, { _: section });
  const edit = mayDo("setting_update") && <Button size="small" variant="outlined" onClick={() => setEdited(settings)} aria-label={`${translate("order.edit")}: ${title}`}>{translate("order.edit")}</Button>;
  return (
    <Section title={title} actions={edit}>
      <Box component="dl" sx={{ m: 0, display: "grid", gridTemplateColumns: { xs: "minmax(0, 1fr)", sm: "minmax(0, 3fr) minmax(0, 2fr)" }, columnGap: 2, rowGap: { xs: 0.25, sm: 1 } }}>
        {settings.map((setting) => (
          <Box key={setting.id} sx={{ display: "contents" }}>
            <Box component="dt" sx={{ color: "text.secondary", fontSize: "0.92rem" }}>{nameOf(setting)}</Box>
            <Box component="dd" data-setting={setting.name} sx={{ m: 0, mb: { xs: 1, sm: 0 }, overflowWrap: "anywhere" }}>{shownValue(setting, translate)}</Box>
          </Box>
        ))}
      </Box>
      {edited && <SectionDialog title={title} settings={edited} onClose={() => setEdited(null)} />}
    </Section>
  );
}

function shownValue({ type, value, variants }: Setting, translate: (key: string) => string): string {
  if (type === CHECKBOX) return translate(value === "Y" ? "ra.boolean.true" : "ra.boolean.false");
  if (type === NUMBER) return number(Number(value));
  return variants.find((variant) => variant.value === value)?.name ?? (value || "–");
}

const entered = ({ type, value }: Setting): unknown => (type === CHECKBOX ? value === "Y" : type === NUMBER ? Number(value) : value);
const written = (value: unknown): string => (typeof value === "boolean" ? (value ? "Y" : "N") : String(value ?? ""));
const valuesOf = (settings: readonly Setting[]): Values => Object.fromEntries(settings.map((setting) => [setting.name, entered(setting)]));

function SectionDialog({ title, settings, onClose }: { title: string; settings: readonly Setting[]; onClose: () => void }) {
  const translate = useTranslate();
  const change = useChange("setting");
  const names = settings.map(({ name }) => name);
  const fresh = {
    fields: settings.map(({ name }) => ({ name, kind: "text" }) as const),
    read: async () => valuesOf((await load()).filter(({ name }) => names.includes(name))),
    show: (values: Values) => Object.fromEntries(Object.entries(values).map(([name, value]) => [name, written(value)])),
  };
  const submit = async (values: Values) => {
    for (const setting of settings.filter(({ name, value }) => written(values[name]) !== value)) await save(setting, written(values[setting.name]));
  };
  return (
    <FormDialog title={title} button={translate("ra.action.save")} values={valuesOf(settings)} fresh={fresh} onClose={onClose} onSubmit={(values) => change(() => submit(values))}>
      {settings.map((setting) => <SettingInput key={setting.id} setting={setting} />)}
    </FormDialog>
  );
}

// What is refused is refused at the setting's own input.
async function save({ id, name }: Setting, value: string): Promise<void> {
  try {
    await execute(OfficeSettingUpdateDocument, { id, value });
  } catch (error) {
    if (!(error instanceof ServerError) || error.code === "UNREACHABLE") throw error;
    throw new ServerError(error.code, error.message, error.status, { [name]: error.fields.value ?? error.message });
  }
}

function SettingInput({ setting }: { setting: Setting }) {
  const common = { source: `input.${setting.name}`, label: nameOf(setting), helperText: locale() === "en" ? setting.description : (false as const) };
  switch (setting.type) {
    case CHECKBOX:
      return <BooleanInput {...common} />;
    case CHOICE:
      return <SelectInput {...common} choices={setting.variants.map(({ value, name }) => ({ id: value, name }))} translateChoice={false} fullWidth isRequired />;
    case NUMBER:
      return <NumericInput isDecimal {...common} fullWidth isRequired />;
    case SECRET:
      return <PasswordInput {...common} fullWidth slotProps={{ htmlInput: { autoComplete: "new-password" } }} />;
    default:
      return <TextInput {...common} fullWidth multiline={setting.name === "installments"} />;
  }
}
