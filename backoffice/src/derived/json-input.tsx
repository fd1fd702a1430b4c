// JSON as text, for what the schema doesn't type.
import { useTranslate } from "ra-core";
import { TextInput, type TextInputProps } from "ra-ui-materialui";

export function JsonInput(props: TextInputProps) {
  const translate = useTranslate();
  return (
    <TextInput
      {...props}
      multiline
      minRows={2}
      maxRows={16}
      format={(value: unknown) => (typeof value === "string" ? value : value === null || value === undefined ? "" : JSON.stringify(value, null, 2))}
      parse={(text: string) => text}
      validate={(value: unknown) => {
        const problem = typeof value === "string" ? problemOf(value) : "";
        return problem ? translate("form.json_invalid", { reason: problem }) : undefined;
      }}
      slotProps={{ htmlInput: { spellCheck: false, style: { fontFamily: "ui-monospace, monospace", fontSize: "0.85rem" } } }}
    />
  );
}

function problemOf(text: string): string {
  try {
    if (text.trim()) JSON.parse(text);
    return "";
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
