// One record of any entity: a form of what the user may change, and beside it what only the server writes.
import Box from "@mui/material/Box";
import Paper from "@mui/material/Paper";
import { useQueryClient } from "@tanstack/react-query";
import { EditBase, type RaRecord, ShowBase, useDataProvider, useNotify, useRecordContext, useResourceContext } from "ra-core";
import { type ReactNode, useState } from "react";
import { useParams } from "react-router-dom";
import { isRefused, mayAct } from "../data/permissions";
import type { FormRecord } from "../data/provider";
import { typedValues, type Values } from "../data/values";
import { useEntity } from "../entities/load";
import type { Entity } from "../entities/types";
import { ServerError } from "../graphql/errors";
import { Page } from "../shell/page";
import { entityName, fieldName } from "../texts";
import { Actions } from "./actions";
import { Conflict } from "./conflict";
import { EntityForm, useNotifyError } from "./form";
import { RelatedLists } from "./related";
import { Value } from "./value";

export default function DerivedEdit() {
  const name = useResourceContext() ?? "";
  const { id } = useParams();
  return <EntityEdit key={`${name}/${id}`} entity={useEntity(name)} />;
}

// What a page made by hand shows of the record, which is in react-admin's context: actions, what is above the form, beside and below it; and the
// actions, lists and fields that aren't derived because of that.
export interface Parts {
  actions?: ReactNode;
  top?: ReactNode;
  aside?: ReactNode;
  below?: ReactNode;
  byHand?: { actions?: readonly string[]; lists?: readonly string[]; fields?: readonly string[] };
}

export function EntityEdit({ entity, ...parts }: { entity: Entity } & Parts) {
  if (!entity.update || !mayAct("edit", entity.name)) {
    return (
      <ShowBase queryOptions={WHOLE}>
        <Record entity={entity} {...parts} />
      </ShowBase>
    );
  }
  return <Editable entity={entity} {...parts} />;
}

// What react-admin knows of a record from a list or another's reference isn't all of it, and has no values for the form.
const WHOLE = { staleTime: 0 };

interface Saved {
  id: RaRecord["id"];
  data: Values;
  previousData: FormRecord;
}

function Editable({ entity, ...parts }: { entity: Entity } & Parts) {
  const notifyError = useNotifyError();
  const notify = useNotify();
  const client = useQueryClient();
  const provider = useDataProvider();
  const [conflict, setConflict] = useState<(Saved & { current: FormRecord }) | null>(null);

  const onError = (error: unknown, variables?: unknown) => {
    if (error instanceof ServerError && error.code === "changed_meanwhile") setConflict({ ...(variables as Saved), current: error.details.current as FormRecord });
    else notifyError(error);
  };
  const overwrite = async () => {
    if (!conflict) return;
    const { current: _, ...saved } = conflict;
    try {
      await provider.update(entity.name, { ...saved, meta: { overwrite: true } });
      notify("ra.notification.updated", { type: "success", messageArgs: { smart_count: 1 } });
      await reload();
    } catch (error) {
      setConflict(null);
      notifyError(error);
    }
  };
  // What is typed before the record is read would be replaced by it.
  const reload = async () => {
    await client.invalidateQueries();
    setConflict(null);
  };

  return (
    <EditBase mutationMode="pessimistic" redirect={false} mutationOptions={{ onError }} queryOptions={WHOLE}>
      <Record entity={entity} isEditable {...parts} />
      {conflict && (
        <Conflict
          fields={entity.update?.fields ?? []} before={conflict.previousData.input} mine={typedValues(entity.update?.fields ?? [], conflict.data.input as Values)} theirs={conflict.current.input}
          onOverwrite={overwrite} onReload={reload} onClose={() => setConflict(null)}
        />
      )}
    </EditBase>
  );
}

function Record({ entity, isEditable = false, actions, top, aside, below, byHand = {} }: { entity: Entity; isEditable?: boolean } & Parts) {
  const record = useRecordContext<RaRecord & Values>();
  if (!record || (isEditable && !record.input)) return null;
  const label = entity.label === "id" ? "" : String(record[entity.label] ?? "");
  return (
    <Page title={label ? `${entityName(entity.name, 1)}: ${label}` : entityName(entity.name, 1)} actions={<>{actions}<Actions entity={entity} record={record} without={byHand.actions ?? []} /></>}>
      {top}
      <Box sx={{ display: "grid", gap: 2, alignItems: "start", gridTemplateColumns: { xs: "minmax(0, 1fr)", lg: isEditable ? "minmax(0, 2fr) minmax(0, 1fr)" : "minmax(0, 1fr)" } }}>
        {isEditable && entity.update && <Paper><EntityForm entity={entity} write={entity.update} /></Paper>}
        <Box sx={{ display: "grid", gap: 2, gridTemplateColumns: "minmax(0, 1fr)" }}>
          {aside}
          <Facts entity={entity} record={record} isEditable={isEditable} without={byHand.fields ?? []} />
        </Box>
      </Box>
      {below}
      <RelatedLists entity={entity} record={record} without={byHand.lists ?? []} />
    </Page>
  );
}

// What is no field of the form.
function Facts({ entity, record, isEditable, without }: { entity: Entity; record: Values; isEditable: boolean; without: readonly string[] }) {
  const written = new Set([...without, ...(isEditable ? (entity.update?.fields ?? []).flatMap((field) => [field.name, field.from?.split(".")[0] ?? ""]) : [])]);
  const shown = entity.fields.filter((field) => {
    const value = record[field.name];
    return !written.has(field.name) && field.kind !== "id" && !isRefused(entity.type, field.name) && value !== null && value !== undefined && value !== "" && !(Array.isArray(value) && !value.length);
  });
  if (!shown.length) return null;
  const currency = typeof record.currency === "string" ? { currency: record.currency } : {};
  return (
    <Paper component="dl" sx={{ m: 0, p: 2, display: "grid", gap: 1.25, gridTemplateColumns: "minmax(0, 2fr) minmax(0, 3fr)", fontSize: "0.92rem" }}>
      {shown.map((field) => (
        <Box key={field.name} sx={{ display: "contents" }}>
          <Box component="dt" sx={{ color: "text.secondary" }}>{fieldName(field.name)}</Box>
          <Box component="dd" sx={{ m: 0 }}><Value field={field} value={record[field.name]} {...currency} /></Box>
        </Box>
      ))}
    </Paper>
  );
}
