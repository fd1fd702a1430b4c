// A bulk operation: how far it is, and its result. It goes on at the server when the page is left.
import Alert from "@mui/material/Alert";
import Button from "@mui/material/Button";
import LinearProgress from "@mui/material/LinearProgress";
import Paper from "@mui/material/Paper";
import Typography from "@mui/material/Typography";
import { useQuery } from "@tanstack/react-query";
import { useTranslate } from "ra-core";
import { useState } from "react";
import { Link as RouterLink, useParams } from "react-router-dom";
import { toCsv } from "../../bulk/export";
import { ownPath, readLines, save } from "../../bulk/files";
import type { RowProblem } from "../../bulk/import";
import { Value } from "../../derived/value";
import { useDescriptions } from "../../entities/load";
import type { Entity } from "../../entities/types";
import { number, time } from "../../format";
import { OfficeBulkCancelDocument, OfficeBulkOperationDocument, type OfficeBulkOperationQuery } from "../../generated";
import { execute } from "../../graphql/client";
import { type GraphQLErrorBody, type ServerError, toServerError, wholeText } from "../../graphql/errors";
import NotFound from "../../shell/not-found";
import { Page } from "../../shell/page";
import { Waiting } from "../../shell/waiting";
import { entityName, fieldName } from "../../texts";
import { usePress } from "../change";
import { Facts } from "../orders/parts";
import { Problems } from "./import";

type Operation = NonNullable<OfficeBulkOperationQuery["bulk_operation"]>;

const ENDED = ["completed", "failed", "cancelled"];
const POLL_MS = 1_500;

export default function OperationPage() {
  const { id = "" } = useParams();
  const { data: operation, error } = useQuery({
    queryKey: ["bulk_operation", "page", id],
    queryFn: async () => (await execute(OfficeBulkOperationDocument, { id })).bulk_operation as Operation | null,
    refetchInterval: ({ state }) => (state.data && ENDED.includes(state.data.state) ? false : POLL_MS),
  });
  if (operation) return <Shown key={id} operation={operation} />;
  if (error) return <Alert severity="error">{error.message}</Alert>;
  return operation === null ? <NotFound /> : <Waiting />;
}

// What the documents of this program say about themselves.
function meaning({ document }: Operation, entities: Readonly<Record<string, Entity>>): { entity: Entity | undefined; total: number | undefined; isExport: boolean } {
  const [, kind, total] = /^\s*(?:query|mutation) (Export|Import)_(\d+)\b/.exec(document) ?? [];
  const [, field = ""] = /\{\s*(\w+)/.exec(document) ?? [];
  const entity = kind ? entities[field.replace(/_(connection|bulk_upsert|update|create)$/, "")] : undefined;
  return { entity, total: total === undefined ? undefined : Number(total), isExport: kind === "Export" };
}

function Shown({ operation }: { operation: Operation }) {
  const translate = useTranslate();
  const press = usePress("bulk_operation");
  const { entities } = useDescriptions();
  const { entity, total, isExport } = meaning(operation, entities);
  const hasEnded = ENDED.includes(operation.state);
  const title = entity ? translate(isExport ? "bulk.export" : "import.title", { name: entityName(entity.name) }) : entityName("bulk_operation", 1);
  const share = total ? Math.min(100, (operation.object_count / total) * 100) : 0;
  const cancel = !hasEnded && <Button variant="outlined" onClick={() => press(() => execute(OfficeBulkCancelDocument, { id: operation.id }), "bulk.cancelled")}>{translate("ra.action.cancel")}</Button>;
  return (
    <Page title={title} actions={cancel}>
      <Paper sx={{ p: 2, display: "grid", gap: 2, gridTemplateColumns: "minmax(0, 1fr)" }}>
        {!hasEnded && <LinearProgress {...(total ? { variant: "determinate", value: share } : {})} aria-label={translate("app.loading")} />}
        {!hasEnded && <Typography color="text.secondary">{translate("bulk.leave")}</Typography>}
        <Facts
          facts={[
            [fieldName("state"), <Value key="state" field={{ name: "state", kind: "enum", enum: "BulkOperationState" }} value={operation.state} />],
            [translate("bulk.done"), total === undefined ? number(operation.object_count) : translate("bulk.of", { done: number(operation.object_count), total: number(total) })],
            [translate("bulk.refused"), operation.error_count ? number(operation.error_count) : ""],
            [fieldName("created_at"), time(operation.created_at)],
            [fieldName("finished_at"), time(operation.finished_at)],
            [fieldName("expires_at"), time(operation.expires_at)],
          ]}
        />
        {operation.error_message && <Alert severity="error">{operation.error_message}</Alert>}
        {operation.result && <Result operation={operation} url={operation.result.url} {...(isExport && entity ? { entity } : {})} />}
        {entity && hasEnded && <Button component={RouterLink} to={`/${entity.name}`} sx={{ justifySelf: "start" }}>{entityName(entity.name)}</Button>}
      </Paper>
    </Page>
  );
}

function Result({ operation, url, entity }: { operation: Operation; url: string; entity?: Entity }) {
  const translate = useTranslate();
  const path = ownPath(url);
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState("");
  const download = async (of: Entity, from: string) => {
    setBusy(true);
    setProblem("");
    try {
      save(await toCsv(of, from), `${of.name}-${operation.created_at.slice(0, 10)}.csv`);
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error));
    } finally {
      setBusy(false);
    }
  };
  if (operation.kind === "mutation") return path ? <Refusals operation={operation} path={path} /> : <Button sx={{ justifySelf: "start" }} href={url} download>{translate("bulk.json")}</Button>;
  return (
    <>
      {problem && <Alert severity="error">{problem}</Alert>}
      {entity && path && <Button variant="contained" sx={{ justifySelf: "start" }} disabled={isBusy} onClick={() => void download(entity, path)}>{translate("bulk.csv")}</Button>}
      <Button sx={{ justifySelf: "start" }} href={path ?? url} download>{translate("bulk.json")}</Button>
    </>
  );
}

interface RowError {
  code: string;
  message: string;
  fields: { field: string; code: string }[];
}

interface Line {
  line: number;
  errors?: GraphQLErrorBody[];
  // Of a mutation of rows, of which each line has one.
  data?: Record<string, { error?: RowError | null }[] | object | null>;
}

function errorsOf({ errors = [], data = {} }: Line): ServerError[] {
  const rows = Object.values(data).flatMap((result) => (Array.isArray(result) ? (result as { error?: RowError | null }[]) : []));
  const refused = rows.flatMap(({ error }) => (error ? [{ message: error.message, extensions: { code: error.code, details: { fields: Object.fromEntries(error.fields.map(({ field, code }) => [field, code])) } } }] : []));
  return [...errors, ...refused].map(toServerError);
}

// The rows that were refused, by their numbers in the file, whose first row has the names of the columns.
function Refusals({ operation, path }: { operation: Operation; path: string }) {
  const translate = useTranslate();
  const { data, error } = useQuery({
    queryKey: ["bulk_operation", "refusals", operation.id],
    queryFn: async () => {
      const problems: RowProblem[] = [];
      for await (const text of readLines(path)) {
        const result = JSON.parse(text) as Line;
        for (const error of errorsOf(result)) {
          const fields = Object.entries(error.fields);
          const at = fields.length ? fields : [["", error.message] as const];
          problems.push(...at.map(([name, problem]) => ({ row: result.line + 1, column: name.replace(/^.*[.\]]/, ""), problem })));
        }
      }
      return problems;
    },
    staleTime: Number.POSITIVE_INFINITY,
  });
  if (error) return <Alert severity="error">{wholeText(error)}</Alert>;
  if (!data) return null;
  if (!data.length) return operation.state === "completed" && <Alert severity="success">{translate("bulk.imported")}</Alert>;
  return (
    <Alert severity="warning">
      {translate("bulk.refused_rows")}
      <Problems problems={data} />
    </Alert>
  );
}
