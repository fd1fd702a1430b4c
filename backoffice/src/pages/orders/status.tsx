// Change the status of an order, or of several, to one that the server allows.
import { BooleanInput, SelectInput, TextInput } from "ra-ui-materialui";
import { useTranslate } from "ra-core";
import { useWatch } from "react-hook-form";
import { FormDialog } from "../../derived/form-dialog";
import { OfficeOrderStatusDocument } from "../../generated";
import { execute } from "../../graphql/client";
import { type OrderStatus, useChange } from "./data";

const COMPLETE = "C";
const CANCELLED = "I";

interface Props {
  orders: readonly { id: string; status: string }[];
  choices: readonly OrderStatus[];
  chosen?: string;
  // What runs the change of each order; by default of the only one.
  run?: (set: (id: string) => Promise<unknown>) => Promise<void>;
  onClose: () => void;
}

export function StatusDialog({ orders, choices, chosen = "", run, onClose }: Props) {
  const translate = useTranslate();
  const change = useChange();
  const options = choices.map(({ letter, description }) => ({ id: letter, name: description }));
  return (
    <FormDialog
      title={translate("order.set_status")}
      values={{ status: chosen, reason: "", restock: false, carrier: "", tracking_code: "" }}
      onSubmit={({ status, reason, restock, carrier, tracking_code }) => {
        const values = { status: String(status), reason: String(reason ?? ""), restock: Boolean(restock), carrier: String(carrier ?? "") || null, tracking_code: String(tracking_code ?? "") || null };
        const set = (id: string) => execute(OfficeOrderStatusDocument, { ...values, id });
        return run ? run(set) : change(() => Promise.all(orders.map(({ id }) => set(id))));
      }}
      onClose={onClose}
    >
      <SelectInput source="input.status" label="order.status" choices={options} translateChoice={false} isRequired validate={(value: unknown) => (value ? undefined : "ra.validation.required")} helperText={choices.length ? false : "order.no_next"} fullWidth />
      <TextInput source="input.reason" label="order.reason" helperText={false} fullWidth multiline minRows={2} />
      <Further isReturn={orders.some(({ status }) => status === COMPLETE)} isOne={orders.length === 1} />
    </FormDialog>
  );
}

function Further({ isReturn, isOne }: { isReturn: boolean; isOne: boolean }) {
  const status = useWatch({ name: "input.status" }) as unknown;
  if (status === CANCELLED && isReturn) return <BooleanInput source="input.restock" label="order.restock" helperText={false} />;
  if (status !== COMPLETE || !isOne) return null;
  return (
    <>
      <TextInput source="input.carrier" label="order.carrier" helperText={false} fullWidth />
      <TextInput source="input.tracking_code" label="order.tracking" helperText={false} fullWidth />
    </>
  );
}
