// The form of any entity, for a new record and for one that is there.
import Box from "@mui/material/Box";
import { Form, useNotify, useTranslate } from "ra-core";
import { DeleteButton, SaveButton, Toolbar } from "ra-ui-materialui";
import { mayAct } from "../data/permissions";
import type { Entity, Field, Write } from "../entities/types";
import { ServerError } from "../graphql/errors";
import { FieldInput, isLong } from "./input";

// Objects and long texts have the whole width; objects come last.
const isWide = (field: Field) => isLong(field) || field.kind === "object" || field.kind === "json";
const weight = (field: Field) => (field.kind === "object" || field.kind === "json" ? 1 : 0);
const GRID = {
  display: "grid", gap: 1, columnGap: 2, p: 2,
  gridTemplateColumns: { xs: "minmax(0, 1fr)", md: "repeat(2, minmax(0, 1fr))" },
  "& > *": { minWidth: 0 },
  "& > :empty": { display: "none" },
};

export function EntityForm({ entity, write, isNew = false }: { entity: Entity; write: Write; isNew?: boolean }) {
  const fields = [...(isNew ? write.extra : []), ...write.fields.toSorted((one, other) => weight(one) - weight(other))];
  return (
    <Form warnWhenUnsavedChanges sanitizeEmptyValues={false}>
      <Box sx={GRID}>
        {fields.map((field) => (
          <Box key={field.name} sx={isWide(field) ? { gridColumn: "1 / -1" } : {}}>
            <FieldInput field={{ ...field, of: entity.type }} source={`input.${field.name}`} />
          </Box>
        ))}
      </Box>
      <FormToolbar entity={entity} isNew={isNew} />
    </Form>
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
  const translate = useTranslate();
  return (error) => {
    const fields = error instanceof ServerError ? Object.keys(error.fields) : [];
    const text = error instanceof Error ? error.message : translate("ra.notification.http_error");
    notify(fields.length ? `${text} (${fields.join(", ")})` : text, { type: "error" });
  };
}
