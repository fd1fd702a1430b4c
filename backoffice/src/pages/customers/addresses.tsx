// The addresses of a customer, which staff may change.
import Box from "@mui/material/Box";
import Button from "@mui/material/Button";
import Chip from "@mui/material/Chip";
import { useTranslate } from "ra-core";
import { TextInput } from "ra-ui-materialui";
import { useState } from "react";
import { mayDo } from "../../data/permissions";
import { changedValues, enteredValues, type Values } from "../../data/values";
import { Asked } from "../../derived/asked";
import { FormDialog } from "../../derived/form-dialog";
import { OfficeAddressCreateDocument, OfficeAddressDefaultDocument, OfficeAddressDeleteDocument, OfficeAddressUpdateDocument, OfficeCustomerDocument } from "../../generated";
import { execute } from "../../graphql/client";
import { fieldName } from "../../texts";
import { useChange, usePress } from "../change";
import { Nothing, Section } from "../orders/parts";
import type { Customer } from "./page";

type Address = NonNullable<Customer["addresses"]>[number];

const FIELDS = ["name", "zipcode", "street", "number", "complement", "district", "city", "state", "country", "phone"] as const;
const DEFAULTS = [["S", "is_default_shipping", "customer.make_default_shipping"], ["B", "is_default_billing", "customer.make_default_billing"]] as const;

export function Addresses({ customer }: { customer: Customer }) {
  const translate = useTranslate();
  const [edited, setEdited] = useState<Address | "new" | null>(null);
  const add = mayDo("user_address_create") && <Button size="small" variant="outlined" onClick={() => setEdited("new")}>{translate("customer.add_address")}</Button>;
  return (
    <Section title={translate("customer.addresses")} actions={add}>
      {!customer.addresses?.length && <Nothing />}
      {customer.addresses?.map((address) => <AddressRow key={address.id} address={address} onEdit={() => setEdited(address)} />)}
      {edited && <AddressDialog user={customer.id} address={edited === "new" ? null : edited} onClose={() => setEdited(null)} />}
    </Section>
  );
}

function AddressRow({ address, onEdit }: { address: Address; onEdit: () => void }) {
  const translate = useTranslate();
  const press = usePress("user");
  const deletion = translate("customer.delete_address", { name: address.name || address.street });
  const defaults = DEFAULTS.filter(([, name]) => !address[name] && mayDo("user_address_set_default"));
  return (
    <Box component="article" aria-label={address.name || address.street}>
      <Box component="address" sx={{ fontStyle: "normal", overflowWrap: "anywhere", fontSize: "0.92rem" }}>
        <Box sx={{ display: "flex", flexWrap: "wrap", gap: 1, fontWeight: 600 }}>
          {address.name}
          {address.is_default_shipping && <Chip size="small" label={translate("customer.default_shipping")} />}
          {address.is_default_billing && <Chip size="small" label={translate("customer.default_billing")} />}
        </Box>
        <div>{[address.street, address.number, address.complement].filter(Boolean).join(", ")}</div>
        <div>{[address.district, [address.city, address.state].filter(Boolean).join("/")].filter(Boolean).join(", ")}</div>
        <div>{[address.zipcode, address.country, address.phone].filter(Boolean).join(" · ")}</div>
      </Box>
      <Box sx={{ display: "flex", flexWrap: "wrap", gap: 0.5, ml: -0.75 }}>
        {mayDo("user_address_update") && <Button size="small" onClick={onEdit}>{translate("ra.action.edit")}</Button>}
        {defaults.map(([type, , label]) => <Button key={type} size="small" onClick={() => press(() => execute(OfficeAddressDefaultDocument, { id: address.id, type }))}>{translate(label)}</Button>)}
        {mayDo("user_address_delete") && (
          <Asked title={deletion} onConfirm={() => press(() => execute(OfficeAddressDeleteDocument, { id: address.id }), "customer.address_deleted")}>
            {(ask) => <Button size="small" color="error" onClick={ask} aria-label={deletion}>{translate("ra.action.delete")}</Button>}
          </Asked>
        )}
      </Box>
    </Box>
  );
}

const valuesOf = (address: Address | null | undefined): Values => Object.fromEntries(FIELDS.map((name) => [name, address ? address[name] : name === "country" ? "BR" : ""]));

function AddressDialog({ user, address, onClose }: { user: string; address: Address | null; onClose: () => void }) {
  const translate = useTranslate();
  const change = useChange("user");
  const [values] = useState(() => valuesOf(address));
  const read = async () => valuesOf((await execute(OfficeCustomerDocument, { id: user, orders: false })).user?.addresses?.find(({ id }) => id === address?.id) ?? address);
  const submit = (input: Values, key: string) =>
    change(() =>
      address ? execute(OfficeAddressUpdateDocument, { id: address.id, input: changedValues(input, values) }) : execute(OfficeAddressCreateDocument, { user_id: user, input: enteredValues(input) }, key),
    );
  const title = translate(address ? "customer.edit_address" : "customer.add_address");
  const fresh = address ? { fresh: { fields: FIELDS.map((name) => ({ name, kind: "text" as const })), read } } : {};
  return (
    <FormDialog title={title} button={translate("ra.action.save")} values={values} {...fresh} onSubmit={submit} onClose={onClose}>
      <Box sx={{ display: "grid", gap: 1, gridTemplateColumns: "minmax(0, 1fr) minmax(0, 1fr)" }}>
        {FIELDS.map((name) => <TextInput key={name} source={`input.${name}`} label={fieldName(name)} helperText={false} fullWidth />)}
      </Box>
    </FormDialog>
  );
}
