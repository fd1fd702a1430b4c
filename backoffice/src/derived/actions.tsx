// What else can be done with a record: a button for each action that the user may do, and a dialog for its arguments.
import Box from "@mui/material/Box";
import Button from "@mui/material/Button";
import { type RaRecord, useNotify, useTranslate } from "ra-core";
import { useState } from "react";
import { mayDo } from "../data/permissions";
import { act } from "../data/provider";
import { formValues, type Values } from "../data/values";
import type { Action, Entity } from "../entities/types";
import { actionName } from "../texts/actions";
import { FormDialog } from "./form-dialog";
import { FieldInput } from "./input";
import { useReread } from "./unsaved";

interface Props {
  entity: Entity;
  record: RaRecord;
}

export function Actions({ entity, record, without = [] }: Props & { without?: readonly string[] }) {
  const [chosen, setChosen] = useState<Action | null>(null);
  return (
    <>
      {entity.actions.filter(({ name }) => mayDo(name) && !without.includes(name)).map((action) => (
        <Button key={action.name} variant="outlined" size="small" onClick={() => setChosen(action)}>{actionName(action.name, entity.name)}</Button>
      ))}
      {chosen && <ActionDialog action={chosen} entity={entity} record={record} onClose={() => setChosen(null)} />}
    </>
  );
}

interface DialogProps extends Props {
  action: Action;
  onClose: () => void;
}

function ActionDialog({ action, entity, record, onClose }: DialogProps) {
  const translate = useTranslate();
  const notify = useNotify();
  const reread = useReread();
  const name = actionName(action.name, entity.name);

  const submit = async (input: Values, key: string) => {
    await act(action, record.id, input, key);
    notify("action.done", { type: "success", messageArgs: { name } });
    reread();
  };

  return (
    <FormDialog title={name} values={initialValues(action, record)} onSubmit={submit} onClose={onClose}>
      {action.fields.length === 0 && <Box>{translate("action.sure", { name })}</Box>}
      {action.fields.map((field) => <FieldInput key={field.name} field={field} source={`input.${field.name}`} />)}
    </FormDialog>
  );
}

// What the record has already, else what the server takes by default.
function initialValues(action: Action, record: RaRecord): Values {
  const defaults = Object.fromEntries(action.fields.flatMap((field) => (field.default === undefined ? [] : [[field.name, field.default]])));
  return { ...defaults, ...formValues(action.fields, record as Values) };
}
