// Who did what to which record: newest first, with what each action changed.
import Box from "@mui/material/Box";
import Chip from "@mui/material/Chip";
import Link from "@mui/material/Link";
import Paper from "@mui/material/Paper";
import { type RaRecord, useListContext, useTranslate } from "ra-core";
import { List, Pagination } from "ra-ui-materialui";
import { Link as RouterLink } from "react-router-dom";
import { mayRead } from "../../data/permissions";
import { filterInputs } from "../../derived/filters";
import { Value } from "../../derived/value";
import { useEntity } from "../../entities/load";
import { time } from "../../format";
import { Page } from "../../shell/page";
import { entityName, fieldName } from "../../texts";
import { Nothing } from "../orders/parts";

interface Entry extends RaRecord {
  at: string;
  action: string;
  actor_kind: string;
  user: { id: string; name: string } | null;
  subject_type: string;
  subject_id: string;
  details: Record<string, unknown> | null;
  ip_address: string;
}

const SELECTION = { selection: "at action actor_kind user { id name } subject_type subject_id details ip_address" };
const UUID = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/;
// What details call the fields that were written.
const FIELDS = ["fields", "changed"];

export default function AuditLog() {
  const entity = useEntity("audit_entry");
  return (
    <Page title={entityName(entity.name)}>
      <List
        title={false} exporter={false} filters={filterInputs(entity)} sort={{ field: "at", order: "DESC" }} perPage={25} actions={false} empty={false}
        pagination={<Pagination rowsPerPageOptions={[25, 50, 100]} />} queryOptions={{ meta: SELECTION }}
      >
        <Entries />
      </List>
    </Page>
  );
}

function Entries() {
  const { data, isPending } = useListContext<Entry>();
  if (isPending) return null;
  if (!data?.length) return <Box sx={{ p: 2 }}><Nothing /></Box>;
  return (
    <Box component="ol" sx={{ listStyle: "none", m: 0, p: 0, display: "grid" }}>
      {data.map((entry) => <EntryRow key={entry.id} entry={entry} />)}
    </Box>
  );
}

function EntryRow({ entry }: { entry: Entry }) {
  const translate = useTranslate();
  const details = Object.entries(entry.details ?? {}).filter(([, value]) => value !== null && value !== "");
  const written = details.flatMap(([name, value]) => (FIELDS.includes(name) && Array.isArray(value) ? value.map(String) : []));
  const others = details.filter(([name, value]) => !(FIELDS.includes(name) && Array.isArray(value)));
  return (
    <Paper component="li" square elevation={0} data-action={entry.action} sx={{ p: 2, display: "grid", gap: 0.75, gridTemplateColumns: "minmax(0, 1fr)", borderBottom: "1px solid", borderColor: "divider" }}>
      <Box sx={{ display: "flex", flexWrap: "wrap", columnGap: 1, rowGap: 0.5, alignItems: "center" }}>
        <strong title={entry.action}>{actionText(entry.action, translate)}</strong>
        <Subject entry={entry} />
      </Box>
      <Box sx={{ color: "text.secondary", fontSize: "0.9rem", display: "flex", flexWrap: "wrap", gap: 1, alignItems: "center" }}>
        <time dateTime={entry.at}>{time(entry.at)}</time>
        {entry.user ? <Link component={RouterLink} to={`/user/${entry.user.id}`}>{entry.user.name}</Link> : <Value field={{ name: "actor_kind", kind: "enum", enum: "ActorKind" }} value={entry.actor_kind} />}
        <span>{entry.ip_address}</span>
      </Box>
      {written.length > 0 && <Box sx={{ display: "flex", flexWrap: "wrap", gap: 0.5 }}>{written.map((name) => <Chip key={name} size="small" variant="outlined" label={fieldName(name)} />)}</Box>}
      {others.length > 0 && (
        <Box component="dl" sx={{ m: 0, display: "grid", gridTemplateColumns: "auto minmax(0, 1fr)", columnGap: 1.5, fontSize: "0.9rem", overflowWrap: "anywhere" }}>
          {others.map(([name, value]) => <Detail key={name} name={name} value={value} />)}
        </Box>
      )}
    </Paper>
  );
}

function Detail({ name, value }: { name: string; value: unknown }) {
  return (
    <>
      <Box component="dt" sx={{ color: "text.secondary" }}>{fieldName(name)}</Box>
      <Box component="dd" sx={{ m: 0 }}>{plain(value)}</Box>
    </>
  );
}

function plain(value: unknown): string {
  if (Array.isArray(value)) return value.map(plain).join(", ");
  return typeof value === "string" ? value : JSON.stringify(value);
}

// The verb of `product.updated` in words, after the name of its entity.
function actionText(action: string, translate: ReturnType<typeof useTranslate>): string {
  const [subject = "", verb = ""] = action.split(".");
  const of = translate(`audit.of.${subject}`, { _: entityName(subject, 1) });
  return `${of}: ${translate(`audit.${verb}`, { _: fieldName(verb) })}`;
}

function Subject({ entry }: { entry: Entry }) {
  const translate = useTranslate();
  const { subject_type: type, subject_id: id } = entry;
  if (!id) return null;
  if (!UUID.test(id) || !mayRead(type) || entry.action.endsWith(".deleted")) return <Box component="span" sx={{ color: "text.secondary", fontSize: "0.9rem", overflowWrap: "anywhere" }}>{id}</Box>;
  return <Link component={RouterLink} to={`/${type}/${id}`} sx={{ fontSize: "0.9rem" }}>{translate("ra.action.show")}</Link>;
}
