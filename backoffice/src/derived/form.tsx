// The form of any entity, for a new record and for one that is there.
import ExpandMore from "@mui/icons-material/ExpandMore";
import Accordion from "@mui/material/Accordion";
import AccordionDetails from "@mui/material/AccordionDetails";
import AccordionSummary from "@mui/material/AccordionSummary";
import Box from "@mui/material/Box";
import { useQueryClient } from "@tanstack/react-query";
import { Form, useNotify, useRegisterMutationMiddleware, useSaveContext, useTranslate } from "ra-core";
import { DeleteButton, SaveButton, Toolbar } from "ra-ui-materialui";
import { type ReactNode, useCallback, useEffect, useState } from "react";
import { useFormContext, useFormState } from "react-hook-form";
import { mayAct } from "../data/permissions";
import { ORDER } from "../entities/order";
import type { Values } from "../data/values";
import type { Entity, Field, Kind, Write } from "../entities/types";
import { wholeText } from "../graphql/errors";
import { Held } from "./held";
import { FieldInput, isLong } from "./input";
import { isRecord, Unsaved } from "./unsaved";

// Objects and long texts have the whole width; objects come last.
const LARGE: readonly Kind[] = ["object", "json", "conditions", "bonuses", "menu_items"];
const isWide = (field: Field) => isLong(field) || LARGE.includes(field.kind);
const weight = (field: Field) => (LARGE.includes(field.kind) ? 1 : 0);
const GRID = {
  display: "grid", gap: 1, columnGap: 2, p: 2,
  gridTemplateColumns: { xs: "minmax(0, 1fr)", md: "repeat(2, minmax(0, 1fr))" },
  "& > *": { minWidth: 0 },
  "& > :empty": { display: "none" },
};

export function EntityForm({ entity, write, isNew = false }: { entity: Entity; write: Write; isNew?: boolean }) {
  const fields = [...(isNew ? write.extra : []), ...write.fields.toSorted((one, other) => weight(one) - weight(other))];
  const groups = grouped(fields, ORDER[entity.name]?.groups ?? []);
  const { save } = useSaveContext();
  const submit = async (values: Values): Promise<unknown> => {
    const errors: unknown = await save?.(values);
    // What was saved is shown by a timer that was set before this one; until then the form is held.
    await new Promise((resolve) => setTimeout(resolve));
    return errors;
  };
  return (
    <Form sanitizeEmptyValues={false} onSubmit={submit}>
      <UnsavedForm />
      <Sent>
        {groups.map(([name, members]) => (name ? <Group key={name} name={name} entity={entity} fields={members} /> : <Inputs key={name} entity={entity} fields={members} />))}
      </Sent>
      <FormToolbar entity={entity} isNew={isNew} />
    </Form>
  );
}

// In the form of a record. What is being read again when the user begins to type would replace that.
function UnsavedForm() {
  const client = useQueryClient();
  const { subscribe } = useFormContext();
  const { dirtyFields } = useFormState();
  const [isSaved, setSaved] = useState(false);
  useRegisterMutationMiddleware(
    useCallback(async (resource: string, params: unknown, next: (resource: string, params: unknown) => Promise<unknown>) => {
      const answer = await next(resource, params);
      setSaved(true);
      return answer;
    }, []),
  );
  useEffect(() => subscribe({ formState: { values: true }, callback: () => setSaved(false) }), [subscribe]);
  const isUnsaved = Object.keys(dirtyFields).length > 0 && !isSaved;
  useEffect(() => {
    if (isUnsaved) void client.cancelQueries({ predicate: isRecord });
  }, [client, isUnsaved]);
  return isUnsaved && <Unsaved isForm />;
}

function Sent({ children }: { children: ReactNode }) {
  const { isSubmitting } = useFormState();
  return <Held isHeld={isSubmitting}>{children}</Held>;
}

function grouped(fields: readonly Field[], groups: NonNullable<(typeof ORDER)[string]["groups"]>): [name: string, fields: Field[]][] {
  if (!groups.length) return [["", [...fields]]];
  const named = groups.map(([name, names]): [string, Field[]] => [name, names.flatMap((each) => fields.find((field) => field.name === each) ?? [])]);
  const others = fields.filter((field) => !groups.some(([, names]) => names.includes(field.name)));
  return others.length ? [...named, ["other", others]] : named;
}

function Inputs({ entity, fields }: { entity: Entity; fields: readonly Field[] }) {
  return (
    <Box sx={GRID}>
      {fields.map((field) => (
        <Box key={field.name} sx={isWide(field) ? { gridColumn: "1 / -1" } : {}}>
          <FieldInput field={{ ...field, of: entity.type }} source={`input.${field.name}`} />
        </Box>
      ))}
    </Box>
  );
}

// A group is closed until it is opened, or one of its fields is refused.
function Group({ name, entity, fields }: { name: string; entity: Entity; fields: readonly Field[] }) {
  const translate = useTranslate();
  const [isOpen, setOpen] = useState(false);
  const { errors } = useFormState();
  const refused = Object.keys((errors.input as object | undefined) ?? {});
  const isRefused = fields.some((field) => refused.includes(field.name));
  useEffect(() => {
    if (isRefused) setOpen(true);
  }, [isRefused]);
  return (
    <Accordion expanded={isOpen} onChange={(_, expanded) => setOpen(expanded)} disableGutters square elevation={0} slotProps={{ heading: { component: "h2" } }} sx={{ borderTop: "1px solid", borderColor: "divider" }}>
      <AccordionSummary id={`group-${name}`} aria-controls={`group-${name}-fields`} expandIcon={<ExpandMore />}>{translate(`group.${name}`)}</AccordionSummary>
      <AccordionDetails sx={{ p: 0 }}><Inputs entity={entity} fields={fields} /></AccordionDetails>
    </Accordion>
  );
}

function FormToolbar({ entity, isNew }: { entity: Entity; isNew: boolean }) {
  return (
    <Toolbar sx={{ justifyContent: "space-between", border: 0, "&&": { position: "sticky" }, bottom: 0, zIndex: 2 }}>
      <SaveButton alwaysEnable={isNew} />
      {!isNew && mayAct("delete", entity.name) && <DeleteButton mutationMode="pessimistic" />}
    </Toolbar>
  );
}

// The errors of fields that the form shows no input for, or that concern no field.
export function useNotifyError(): (error: unknown) => void {
  const notify = useNotify();
  return (error) => notify(wholeText(error), { type: "error" });
}
