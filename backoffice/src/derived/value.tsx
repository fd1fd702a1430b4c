// One value of a record as text, by its kind.
import Box from "@mui/material/Box";
import Chip from "@mui/material/Chip";
import Link from "@mui/material/Link";
import { useTranslate } from "ra-core";
import type { ReactNode } from "react";
import { Link as RouterLink } from "react-router-dom";
import { mayRead } from "../data/permissions";
import type { Values } from "../data/values";
import { useDescriptions } from "../entities/load";
import type { Field } from "../entities/types";
import { money, number, time } from "../format";
import { fieldName, memberName } from "../texts";
import { useStatuses } from "./statuses";

interface Options {
  // The currency of the record, where it has one.
  currency?: string;
  // In a list: its beginning.
  isShort?: boolean;
}

interface Props extends Options {
  field: Field;
  value: unknown;
}

const MOST_VALUES = 8;
const MOST_CHARACTERS = 140;

export function Value({ field, value, ...options }: Props): ReactNode {
  if (value === null || value === undefined || value === "") return null;
  if (Array.isArray(value)) return <Several field={{ ...field, isList: false }} values={value} {...options} />;
  switch (field.kind) {
    case "time":
      return time(String(value));
    case "boolean":
      return <YesNo value={Boolean(value)} />;
    case "integer":
    case "number":
      return field.name.endsWith("_cents") ? money(Number(value), options.currency) : number(Number(value) / (field.scale ?? 1));
    case "enum":
      return <Member name={field.enum ?? ""} id={String(value)} />;
    case "status":
      return <StatusName type={field.status ?? "O"} letter={String(value)} />;
    case "record":
      return <Related field={field} record={value as Values} />;
    case "object":
      return <Members field={field} record={value as Values} {...options} />;
    case "json":
      return <Json value={value} />;
    default:
      return <Text field={field} text={String(value)} {...options} />;
  }
}

function Several({ field, values, ...options }: Options & { field: Field; values: unknown[] }) {
  const shown = options.isShort ? values.slice(0, MOST_VALUES) : values;
  return (
    <Box sx={{ display: "flex", flexWrap: "wrap", gap: 0.75 }}>
      {shown.map((value, index) => <Value key={index} field={field} value={value} {...options} />).map((item, index) =>
        field.kind === "object" ? <Box key={index}>{item}</Box> : <Chip key={index} size="small" variant="outlined" label={item} />,
      )}
      {values.length > shown.length && <span>+{values.length - shown.length}</span>}
    </Box>
  );
}

function YesNo({ value }: { value: boolean }) {
  return useTranslate()(value ? "ra.boolean.true" : "ra.boolean.false");
}

const COLORS: Readonly<Record<string, "success" | "warning" | "error" | "default">> = {
  A: "success", paid: "success", P: "warning", pending: "warning", failed: "error", F: "error",
};

function Member({ name, id }: { name: string; id: string }) {
  const choice = useDescriptions().enums[name]?.find((each) => each.id === id);
  const color = COLORS[id] ?? "default";
  return <Chip size="small" label={choice ? memberName(choice.name) : id} color={color} variant={color === "default" ? "outlined" : "filled"} />;
}

export function StatusName({ type, letter }: { type: "O" | "S"; letter: string }) {
  const status = useStatuses(type).find((each) => each.letter === letter);
  return (
    <Box component="span" sx={{ display: "inline-flex", alignItems: "center", gap: 0.75, whiteSpace: "nowrap" }}>
      <Box component="span" aria-hidden sx={{ width: 10, height: 10, borderRadius: "50%", bgcolor: status?.color ?? "grey.500" }} />
      {status?.description ?? letter}
    </Box>
  );
}

function Related({ field, record }: { field: Field; record: Values }) {
  const label = String(record[field.label ?? "id"] ?? record.id);
  if (!field.entity || !mayRead(field.entity)) return label;
  const path = `/${field.entity}/${encodeURIComponent(String(record.id))}`;
  return <Link component={RouterLink} to={path} onClick={(event) => event.stopPropagation()}>{label}</Link>;
}

// A picture, an amount or name, or all members with their names.
function Members({ field, record, ...options }: Options & { field: Field; record: Values }) {
  if (typeof record.url === "string" && field.members?.some((member) => member.name === "alt")) return <Picture url={record.url} alt={String(record.alt ?? "")} />;
  const first = field.members?.find((member) => ["name", "title"].includes(member.name));
  if (first) return <>{String(record[first.name] ?? "")}</>;
  const shown = (field.members ?? []).filter((member) => record[member.name] !== null && record[member.name] !== "" && !isRepeated(member, record));
  return <Pairs pairs={shown.map((member) => [fieldName(member.name), <Value key={member.name} field={member} value={record[member.name]} {...options} />])} />;
}

export function Pairs({ pairs }: { pairs: readonly (readonly [name: string, value: ReactNode])[] }) {
  return (
    <Box component="dl" sx={{ display: "grid", gridTemplateColumns: "minmax(0, auto) minmax(0, 1fr)", columnGap: 1, m: 0, fontSize: "0.85rem" }}>
      {pairs.map(([name, value]) => (
        <Box key={name} sx={{ display: "contents" }}>
          <Box component="dt" sx={{ color: "text.secondary", overflowWrap: "anywhere" }}>{name}</Box>
          <Box component="dd" sx={{ m: 0 }}>{value}</Box>
        </Box>
      ))}
    </Box>
  );
}

// The ID and the name of a record that is shown itself: `option_id` and `option_name` of `option`.
function isRepeated(member: Field, record: Values): boolean {
  const [, of] = /^(.+)_(id|name)$/.exec(member.name) ?? [];
  return of !== undefined && typeof record[of] === "object" && record[of] !== null;
}

// An object as names and values, at any depth.
function Json({ value }: { value: unknown }) {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return <Box component="code" sx={{ fontSize: "0.8rem", overflowWrap: "anywhere" }}>{typeof value === "string" ? value : JSON.stringify(value)}</Box>;
  return <Pairs pairs={Object.entries(value).map(([name, member]: [string, unknown]) => [name, <Json key={name} value={member} />])} />;
}

export function Picture({ url, alt, size = 48 }: { url: string; alt: string; size?: number }) {
  return <Box component="img" src={url} alt={alt} loading="lazy" sx={{ width: size, height: size, objectFit: "cover", borderRadius: 1.5, bgcolor: "#eeece5", display: "block" }} />;
}

// What a browser shows of HTML, without its form. A parsed document runs and loads nothing.
function plainText(html: string): string {
  const { body } = new DOMParser().parseFromString(html.replace(/<\/?(?:br|p|div|li|h[1-6]|t[dhr]|blockquote)\b/gi, " $&"), "text/html");
  for (const each of body.querySelectorAll("script, style, template")) each.remove();
  return (body.textContent ?? "").replace(/\s+/g, " ").trim();
}

function Text({ field, text, isShort }: Options & { field: Field; text: string }) {
  if (field.name === "color") return <Box component="span" sx={{ display: "inline-flex", gap: 1, alignItems: "center" }}><Box component="span" sx={{ width: 16, height: 16, borderRadius: "50%", bgcolor: text }} />{text}</Box>;
  if (field.name === "url" && /\/media\//.test(text)) return <Picture url={text} alt="" />;
  const shown = field.isHtml ? plainText(text) : text;
  return <Box component="span" sx={{ overflowWrap: "anywhere" }}>{isShort && shown.length > MOST_CHARACTERS ? `${shown.slice(0, MOST_CHARACTERS)}…` : shown}</Box>;
}
