// Forms: labels, errors at their inputs, one request at a time.

import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { Refusal } from "../api/errors";
import { request } from "../api/requests";
import { PostalAddressDocument } from "../generated";

const UNEXPECTED = new Refusal("Algo deu errado. Tente de novo.", "INTERNAL");

/** Run an action that the customer started; returns what was refused, and whether it is running. */
export function useAction<Arguments extends unknown[]>(action: (...values: Arguments) => Promise<void>) {
  const [state, setState] = useState<{ refusal?: Refusal; isBusy: boolean }>({ isBusy: false });
  const isRunning = useRef(false);
  async function run(...values: Arguments): Promise<void> {
    if (isRunning.current) return;
    isRunning.current = true;
    setState({ isBusy: true });
    try {
      await action(...values);
      setState({ isBusy: false });
    } catch (error) {
      if (!(error instanceof Refusal)) console.error(error);
      setState({ isBusy: false, refusal: error instanceof Refusal ? error : UNEXPECTED });
    } finally {
      isRunning.current = false;
    }
  }
  return { ...state, run };
}

interface FormProps {
  submit: (values: Record<string, string>) => Promise<void>;
  label: string;
  class?: string;
  children: ComponentChildren | ((fields: Readonly<Record<string, string>>) => ComponentChildren);
}

/** A form that sends the texts of its inputs by name. A refusal is announced, and the first refused input focused. */
export function Form({ submit, label, children, ...props }: FormProps) {
  const form = useRef<HTMLFormElement>(null);
  const { refusal, isBusy, run } = useAction(submit);
  useEffect(() => {
    if (refusal) (form.current?.querySelector<HTMLElement>("[aria-invalid=true]") ?? null)?.focus();
  }, [refusal]);
  function send(event: Event) {
    event.preventDefault();
    const values = [...new FormData(form.current!)].map(([name, value]) => [name, String(value).trim()]);
    void run(Object.fromEntries(values));
  }
  return (
    <form {...props} ref={form} noValidate onSubmit={send} aria-busy={isBusy}>
      {typeof children === "function" ? children(refusal?.fields ?? {}) : children}
      <Alert refusal={refusal} />
      <button class="primary" disabled={isBusy}>
        {label}
      </button>
    </form>
  );
}

export function Alert({ refusal }: { refusal?: Refusal }) {
  return (
    <p class="alert" role="alert">
      {refusal?.message}
    </p>
  );
}

interface FieldProps {
  name: string;
  label: string;
  error?: string;
  hint?: string;
  type?: "text" | "email" | "password" | "tel";
  inputMode?: "numeric";
  autoComplete?: string;
  defaultValue?: string;
  onInput?: (event: InputEvent) => void;
}

export function Field({ label, error, hint, ...input }: FieldProps) {
  const id = useId();
  const note = error ?? hint;
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <input {...(input as object)} id={id} aria-invalid={error ? "true" : undefined} aria-describedby={note ? `${id}-note` : undefined} />
      {note && (
        <small id={`${id}-note`} class={error ? "error" : ""}>
          {note}
        </small>
      )}
    </div>
  );
}

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
        <select id={id} name="state" autoComplete="address-level1" defaultValue={String(address?.state ?? "")} aria-invalid={fields.state ? "true" : undefined}>
          <option value="">Escolha</option>
          {STATES.map((state) => (
            <option selected={state === address?.state}>{state}</option>
          ))}
        </select>
      </div>
      {field("phone", "Telefone (opcional)", { type: "tel", autoComplete: "tel" })}
    </div>
  );
}
