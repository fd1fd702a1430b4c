// A number as a person of the page's language types it. An input of type "number" reads it in the browser's: in an English one "7,5" is 75,
// and "1.000" is 1.
import { useTranslate } from "ra-core";
import { NumberInput, type NumberInputProps } from "ra-ui-materialui";
import { useCallback } from "react";
import { decimal, readNumber } from "../format";

interface Props extends Omit<NumberInputProps, "validate"> {
  isDecimal?: boolean;
  // How many of the value's units are one of what is typed.
  scale?: number;
  validate?: (value: unknown) => string | undefined;
}

export function NumericInput({ isDecimal = false, scale = 1, validate, ...props }: Props) {
  const translate = useTranslate();
  const check = (value: unknown) =>
    typeof value === "string" || (typeof value === "number" && !isDecimal && !Number.isInteger(value)) ? translate("form.number_invalid") : validate?.(value);
  // What is no number stays as it is typed.
  const parse = useCallback((text: string) => {
    const value = Number((readNumber(text) * scale).toFixed(6));
    return text.trim() === "" ? null : Number.isNaN(value) ? text : value;
  }, [scale]);
  const format = useCallback((value: unknown) => (typeof value === "number" ? decimal(String(value / scale)) : String(value ?? "")), [scale]);
  return <NumberInput {...props} type="text" parse={parse as NumberInputProps["parse"]} format={format} validate={check} />;
}
