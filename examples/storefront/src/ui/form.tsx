// Forms: labels, errors at their inputs, one request at a time.

import type { ComponentChildren, ComponentProps } from "preact";
import { useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import { Refusal } from "../api/errors";

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
  const [isHighlighted, setHighlighted] = useState(false);
  useLayoutEffect(() => {
    const refused = form.current!.querySelector<HTMLElement>("[aria-invalid=true]");
    setHighlighted(refused !== null);
    if (refusal) refused?.focus();
  }, [refusal]);
  function send(event: Event) {
    event.preventDefault();
    const values = [...new FormData(form.current!)].map(([name, value]) => [name, String(value).trim()]);
    void run(Object.fromEntries(values));
  }
  return (
    <form {...props} ref={form} noValidate onSubmit={send} aria-busy={isBusy}>
      {typeof children === "function" ? children(refusal?.fields ?? {}) : children}
      <Alert refusal={isHighlighted ? refusal : refusal?.withoutFields()} />
      <Button class="primary" isOff={isBusy}>{label}</Button>
    </form>
  );
}

/** A button that keeps the focus while it can't be pressed. */
export function Button({ isOff, onClick, ...button }: ComponentProps<"button"> & { isOff: boolean }) {
  return <button {...button} aria-disabled={isOff} onClick={isOff ? undefined : onClick} />;
}

export function Alert({ refusal }: { refusal?: Refusal }) {
  return (
    <p class="alert" role="alert">
      {refusal?.message}
    </p>
  );
}

export interface FieldProps {
  name: string;
  label: string;
  error?: string;
  hint?: string;
  type?: "text" | "email" | "password" | "tel";
  inputMode?: "numeric";
  autoComplete?: string;
  defaultValue?: string;
  onInput?: (event: InputEvent) => void;
  /** Whether it takes the focus when it appears: the next step of what the customer does. */
  isFocused?: boolean;
}

const focus = (element: HTMLElement | null) => element?.focus();

export function Field({ label, error, hint, isFocused, ...input }: FieldProps) {
  const id = useId();
  const note = error ?? hint;
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <input {...(input as object)} ref={isFocused ? focus : undefined} id={id} aria-invalid={error ? "true" : undefined} aria-describedby={note ? `${id}-note` : undefined} />
      {note && (
        <small id={`${id}-note`} class={error ? "error" : ""}>
          {note}
        </small>
      )}
    </div>
  );
}
