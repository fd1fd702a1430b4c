// What else can be done with a record: a button for each action that the user may do, and a dialog for its arguments.
import Alert from "@mui/material/Alert";
import Box from "@mui/material/Box";
import Button from "@mui/material/Button";
import Dialog from "@mui/material/Dialog";
import DialogActions from "@mui/material/DialogActions";
import DialogContent from "@mui/material/DialogContent";
import DialogTitle from "@mui/material/DialogTitle";
import { Form, type RaRecord, useNotify, useRefresh, useTranslate } from "ra-core";
import { useId, useState } from "react";
import { mayDo } from "../data/permissions";
import { act } from "../data/provider";
import { formValues, type Values } from "../data/values";
import type { Action, Entity } from "../entities/types";
import { ServerError } from "../graphql/errors";
import { actionName } from "../texts/actions";
import { FieldInput } from "./input";

interface Props {
  entity: Entity;
  record: RaRecord;
}

export function Actions({ entity, record }: Props) {
  const [chosen, setChosen] = useState<Action | null>(null);
  return (
    <>
      {entity.actions.filter((action) => mayDo(action.name)).map((action) => (
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
  const refresh = useRefresh();
  const title = useId();
  const [refusal, setRefusal] = useState("");
  const [isRunning, setRunning] = useState(false);
  const name = actionName(action.name, entity.name);

  const submit = async ({ input = {} }: { input?: Values }) => {
    setRunning(true);
    try {
      await act(action, record.id, input);
      notify("action.done", { type: "success", messageArgs: { name } });
      refresh();
      onClose();
      return undefined;
    } catch (error) {
      setRefusal(error instanceof Error ? error.message : String(error));
      return error instanceof ServerError ? { input: { ...error.fields } } : undefined;
    } finally {
      setRunning(false);
    }
  };

  return (
    <Dialog open onClose={onClose} fullWidth maxWidth="sm" aria-labelledby={title}>
      <Form record={{ id: record.id, input: initialValues(action, record) }} onSubmit={(values: { input?: Values }) => submit(values)} sanitizeEmptyValues={false}>
        <DialogTitle id={title}>{name}</DialogTitle>
        <DialogContent sx={{ display: "grid", gap: 1 }}>
          {refusal && <Alert severity="error">{refusal}</Alert>}
          {action.fields.length === 0 && <Box>{translate("action.sure", { name })}</Box>}
          {action.fields.map((field) => <FieldInput key={field.name} field={field} source={`input.${field.name}`} />)}
        </DialogContent>
        <DialogActions>
          <Button onClick={onClose}>{translate("ra.action.cancel")}</Button>
          <Button type="submit" variant="contained" disabled={isRunning}>{name}</Button>
        </DialogActions>
      </Form>
    </Dialog>
  );
}

// What the record has already, else what the server takes by default.
function initialValues(action: Action, record: RaRecord): Values {
  const defaults = Object.fromEntries(action.fields.flatMap((field) => (field.default === undefined ? [] : [[field.name, field.default]])));
  return { ...defaults, ...formValues(action.fields, record as Values) };
}
