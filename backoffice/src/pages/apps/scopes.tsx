// The scopes of an app as checkboxes.
import Box from "@mui/material/Box";
import { useTranslate } from "ra-core";
import { BooleanInput } from "ra-ui-materialui";
import { Members } from "../../derived/members";
import { locale } from "../../texts";

const AREAS = ["products", "orders", "users", "categories", "inventory", "content", "shipping"];
const NAMES: Readonly<Record<string, string>> = {
  products: "produtos", orders: "pedidos", users: "clientes", categories: "categorias", inventory: "estoque", content: "conteúdo", shipping: "entrega", payments: "pagamentos", shipping_rates: "cotações de frete",
};
const VERBS: Readonly<Record<string, string>> = { read: "Ler", write: "Alterar", handle: "Processar" };

export const SCOPES: readonly string[] = [...AREAS.flatMap((area) => [`read_${area}`, `write_${area}`]), "read_payments", "handle_payments", "handle_shipping_rates"];

export function scopeName(scope: string): string {
  const [, verb = "", area = ""] = /^([a-z]+)_(.*)$/.exec(scope) ?? [];
  return locale() === "pt-BR" && VERBS[verb] && NAMES[area] ? `${VERBS[verb]} ${NAMES[area]}` : scope;
}

export const scopeValues = (granted: readonly string[]) => Object.fromEntries(granted.map((scope) => [scope, true]));
export const chosenScopes = (values: unknown): string[] => Object.entries((values ?? {}) as Record<string, unknown>).flatMap(([scope, isChosen]) => (isChosen ? [scope] : []));

export function ScopeInputs({ scopes }: { scopes: readonly string[] }) {
  const translate = useTranslate();
  return (
    <Members label={translate("apps.scopes")}>
      <Box sx={{ display: "grid", gridTemplateColumns: { xs: "minmax(0, 1fr)", sm: "repeat(2, minmax(0, 1fr))" } }}>
        {scopes.map((scope) => <BooleanInput key={scope} source={`input.scopes.${scope}`} label={scopeName(scope)} helperText={false} />)}
      </Box>
    </Members>
  );
}
