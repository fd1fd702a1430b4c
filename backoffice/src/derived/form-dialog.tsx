// A dialog with a form: what the server refuses is shown at its inputs, and what was typed stays.
import Alert from "@mui/material/Alert";
import Button from "@mui/material/Button";
import Dialog from "@mui/material/Dialog";
import DialogActions from "@mui/material/DialogActions";
import DialogContent from "@mui/material/DialogContent";
import DialogTitle from "@mui/material/DialogTitle";
import { Form, useTranslate } from "ra-core";
import { type ReactNode, useId, useRef, useState } from "react";
import { attempts } from "../data/attempts";
import { nestedErrors } from "../data/provider";
import { changedValues, type Values } from "../data/values";
import type { Field } from "../entities/types";
import { ServerError } from "../graphql/errors";
import { BothValues } from "./conflict";
import { Held } from "./held";

export interface Fresh {
  fields: readonly Field[];
  read: () => Promise<Values>;
  // The values as the comparison shows them, where that isn't as they are.
  show?: (values: Values) => Values;
}

interface Props {
  title: string;
  // The text of the button that sends the form; the title by default.
  button?: string;
  // Values by the names of the inputs, which are below `input`.
  values: Values;
  maxWidth?: "sm" | "md";
  // The present values of the inputs named by fields, where another user may change them meanwhile.
  fresh?: Fresh;
  // An attempt whose answer was lost is repeated with its key (src/data/attempts.ts).
  onSubmit: (input: Values, key: string) => Promise<void>;
  onClose: () => void;
  children: ReactNode;
}

export function FormDialog({ title, button = title, values, maxWidth = "sm", fresh, onSubmit, onClose, children }: Props) {
  const translate = useTranslate();
  const titleId = useId();
  const [refusal, setRefusal] = useState("");
  const [isRunning, setRunning] = useState(false);
  // The button is drawn as disabled only after the form has checked its inputs: a second press before that sends nothing.
  const isSent = useRef(false);
  const [attempt] = useState(attempts);
  const [record] = useState({ id: "form", input: values });
  const show = fresh?.show ?? ((shown: Values) => shown);
  const [before, setBefore] = useState(values);
  const [conflict, setConflict] = useState<{ mine: Values; theirs: Values } | null>(null);

  // Shows what another user changed meanwhile, once: the next attempt saves.
  const isUnchanged = async (mine: Values) => {
    const theirs = await fresh?.read();
    // What is theirs already, as when a part of an earlier attempt was saved, is nothing to choose.
    if (!theirs || !Object.keys(changedValues(theirs, before)).some((name) => name in changedValues(mine, theirs))) return true;
    setConflict({ mine, theirs });
    setBefore(theirs);
    return false;
  };

  const submit = async ({ input = {} }: { input?: Values }) => {
    if (isSent.current) return undefined;
    isSent.current = true;
    setRunning(true);
    try {
      if (!(await isUnchanged(input))) return undefined;
      await attempt(input, (key) => onSubmit(input, key));
      onClose();
      return undefined;
    } catch (error) {
      setRefusal(error instanceof Error ? error.message : String(error));
      return error instanceof ServerError ? { input: nestedErrors(error.fields) } : undefined;
    } finally {
      isSent.current = false;
      setRunning(false);
    }
  };

  return (
    <Dialog open onClose={(_, reason) => reason === "backdropClick" || onClose()} fullWidth maxWidth={maxWidth} aria-labelledby={titleId}>
      <Form record={record} onSubmit={(entered: { input?: Values }) => submit(entered)} sanitizeEmptyValues={false}>
        <DialogTitle id={titleId}>{title}</DialogTitle>
        <DialogContent sx={{ display: "grid", gap: 1, "&&": { pt: 1 }, gridTemplateColumns: "minmax(0, 1fr)" }}>
          {conflict && fresh && (
            <Alert severity="warning">
              {translate("form.changed")} {translate("form.again")}
              <BothValues fields={fresh.fields} before={show(record.input)} mine={show(conflict.mine)} theirs={show(conflict.theirs)} />
            </Alert>
          )}
          {refusal && <Alert severity="error">{refusal}</Alert>}
          <Held isHeld={isRunning}>{children}</Held>
        </DialogContent>
        <DialogActions>
          <Button onClick={onClose}>{translate("ra.action.cancel")}</Button>
          <Button type="submit" variant="contained" disabled={isRunning}>{button}</Button>
        </DialogActions>
      </Form>
    </Dialog>
  );
}
