// What the parts of an order's page are made of.
import Box from "@mui/material/Box";
import Paper from "@mui/material/Paper";
import Typography from "@mui/material/Typography";
import { useTranslate } from "ra-core";
import { TextInput } from "ra-ui-materialui";
import { type ReactNode, useId } from "react";
import { readMoney, writeMoney } from "../../format";

interface SectionProps {
  title: string;
  actions?: ReactNode;
  children: ReactNode;
}

export function Section({ title, actions, children }: SectionProps) {
  const id = useId();
  return (
    <Paper component="section" aria-labelledby={id} sx={{ p: 2, display: "grid", gap: 1.5, gridTemplateColumns: "minmax(0, 1fr)", breakInside: "avoid" }}>
      <Box sx={{ display: "flex", flexWrap: "wrap", gap: 1, alignItems: "center", minHeight: 32 }}>
        <Typography id={id} variant="h2" sx={{ flex: 1 }}>{title}</Typography>
        {actions && <Box className="no-print" sx={{ display: "flex", flexWrap: "wrap", gap: 1 }}>{actions}</Box>}
      </Box>
      {children}
    </Paper>
  );
}

// Names and values; what is empty isn't shown.
export function Facts({ facts }: { facts: readonly (readonly [string, ReactNode])[] }) {
  return (
    <Box component="dl" sx={{ m: 0, display: "grid", gridTemplateColumns: "minmax(0, 2fr) minmax(0, 3fr)", gap: 0.75, fontSize: "0.92rem" }}>
      {facts.filter(([, value]) => value).map(([name, value]) => (
        <Box key={name} sx={{ display: "contents" }}>
          <Box component="dt" sx={{ color: "text.secondary" }}>{name}</Box>
          <Box component="dd" sx={{ m: 0, overflowWrap: "anywhere" }}>{value}</Box>
        </Box>
      ))}
    </Box>
  );
}

export function Nothing({ text = "order.none" }: { text?: string }) {
  return <Typography color="text.secondary">{useTranslate()(text)}</Typography>;
}

// An amount as it is typed; `cents` reads it.
export function MoneyInput({ source, label, helperText = false, isRequired = false }: { source: string; label: string; helperText?: string | false; isRequired?: boolean }) {
  const translate = useTranslate();
  const validate = (value: unknown) => {
    if (cents(value) === null) return isRequired ? "ra.validation.required" : undefined;
    return Number.isNaN(cents(value)) ? translate("form.money_invalid") : undefined;
  };
  return (
    <TextInput
      source={source} label={label} helperText={helperText} fullWidth isRequired={isRequired} validate={validate}
      format={(value: unknown) => (typeof value === "number" ? writeMoney(value) : String(value ?? ""))}
      parse={(text: string) => text}
      slotProps={{ htmlInput: { inputMode: "decimal" } }}
    />
  );
}

export function cents(value: unknown): number | null {
  if (typeof value === "number") return value;
  return typeof value === "string" && value.trim() ? readMoney(value) : null;
}
