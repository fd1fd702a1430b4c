// A dialog with a form: what the server refuses is shown at its inputs, and what was typed stays.
import Alert from "@mui/material/Alert";
import Button from "@mui/material/Button";
import Dialog from "@mui/material/Dialog";
import DialogActions from "@mui/material/DialogActions";
import DialogContent from "@mui/material/DialogContent";
import DialogTitle from "@mui/material/DialogTitle";
import { Form, useTranslate } from "ra-core";
import { type ReactNode, useId, useState } from "react";
import { nestedErrors } from "../data/provider";
import type { Values } from "../data/values";
import { ServerError } from "../graphql/errors";

interface Props {
  title: string;
  // The text of the button that sends the form; the title by default.
  button?: string;
  // Values by the names of the inputs, which are below `input`.
  values: Values;
  maxWidth?: "sm" | "md";
  onSubmit: (input: Values) => Promise<void>;
  onClose: () => void;
  children: ReactNode;
}

export function FormDialog({ title, button = title, values, maxWidth = "sm", onSubmit, onClose, children }: Props) {
  const translate = useTranslate();
  const titleId = useId();
  const [refusal, setRefusal] = useState("");
  const [isRunning, setRunning] = useState(false);
  const [record] = useState({ id: "form", input: values });

  const submit = async ({ input = {} }: { input?: Values }) => {
    setRunning(true);
    try {
      await onSubmit(input);
      onClose();
      return undefined;
    } catch (error) {
      setRefusal(error instanceof Error ? error.message : String(error));
      return error instanceof ServerError ? { input: nestedErrors(error.fields) } : undefined;
    } finally {
      setRunning(false);
    }
  };

  return (
    <Dialog open onClose={(_, reason) => reason === "backdropClick" || onClose()} fullWidth maxWidth={maxWidth} aria-labelledby={titleId}>
      <Form record={record} onSubmit={(entered: { input?: Values }) => submit(entered)} sanitizeEmptyValues={false}>
        <DialogTitle id={titleId}>{title}</DialogTitle>
        <DialogContent sx={{ display: "grid", gap: 1, "&&": { pt: 1 }, gridTemplateColumns: "minmax(0, 1fr)" }}>
          {refusal && <Alert severity="error">{refusal}</Alert>}
          {children}
        </DialogContent>
        <DialogActions>
          <Button onClick={onClose}>{translate("ra.action.cancel")}</Button>
          <Button type="submit" variant="contained" disabled={isRunning}>{button}</Button>
        </DialogActions>
      </Form>
    </Dialog>
  );
}
