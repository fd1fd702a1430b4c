// The inputs of a Brazilian address.

import { useId } from "preact/hooks";
import { request } from "../api/requests";
import { PostalAddressDocument } from "../generated";
import { Field, type FieldProps } from "./form";

const STATES = "AC AL AM AP BA CE DF ES GO MA MG MS MT PA PB PE PI PR RJ RN RO RR RS SC SE SP TO".split(" ");

/** Fill in what the postal code says, where nothing is typed yet. */
async function completeAddress({ currentTarget }: InputEvent) {
  const { form, value } = currentTarget as HTMLInputElement;
  if (value.replace(/\D/g, "").length !== 8) return;
  const known = (await request(PostalAddressDocument, { zipcode: value }).catch(() => null))?.address_by_zipcode;
  for (const name of ["street", "district", "city", "state"] as const) {
    const field = form?.elements.namedItem(name) as HTMLInputElement | null;
    if (field && !field.value) field.value = known?.[name] ?? "";
  }
}

/** The inputs of an address; `fields` are the messages of refused ones. */
export function AddressFields({ address, fields }: { address?: Partial<Record<string, unknown>> | null; fields: Readonly<Record<string, string>> }) {
  const id = useId();
  const field = (name: string, label: string, more: Partial<FieldProps> = {}) => (
    <Field name={name} label={label} error={fields[name]} defaultValue={String(address?.[name] ?? "")} {...more} />
  );
  return (
    <div class="address">
      {field("name", "Nome de quem recebe", { autoComplete: "name" })}
      {field("zipcode", "CEP", { autoComplete: "postal-code", inputMode: "numeric", onInput: (event) => void completeAddress(event) })}
      {field("street", "Rua", { autoComplete: "address-line1" })}
      {field("number", "Número", { inputMode: "numeric" })}
      {field("complement", "Complemento (opcional)", { autoComplete: "address-line2" })}
      {field("district", "Bairro", { autoComplete: "address-level3" })}
      {field("city", "Cidade", { autoComplete: "address-level2" })}
      <div class="field">
        <label for={id}>Estado</label>
        <select
          id={id}
          name="state"
          autoComplete="address-level1"
          defaultValue={String(address?.state ?? "")}
          aria-invalid={fields.state ? "true" : undefined}
          aria-describedby={fields.state ? `${id}-note` : undefined}
        >
          <option value="">Escolha</option>
          {STATES.map((state) => (
            <option selected={state === address?.state}>{state}</option>
          ))}
        </select>
        {fields.state && <small id={`${id}-note`} class="error">{fields.state}</small>}
      </div>
      {field("phone", "Telefone (opcional)", { type: "tel", autoComplete: "tel" })}
    </div>
  );
}
