// Privileges by their areas, in Portuguese.
import { locale, words } from "./index";

const AREAS: Readonly<Record<string, string>> = {
  products: "Produtos", orders: "Pedidos", users: "Clientes e usuários", payments: "Pagamentos", catalog: "Categorias e características", content: "Conteúdo",
  shipping: "Entrega", marketplace: "Vendedores", settings: "Configurações", apps: "Aplicativos", warehouses: "Depósitos", b2b: "B2B",
};

export function privilegeName(privilege: string): string {
  const [, verb, area = ""] = /^(view|manage)_(.+)$/.exec(privilege) ?? [];
  if (!verb) return privilege;
  return locale() === "pt-BR" ? `${AREAS[area] ?? words(area)}: ${verb === "view" ? "ver" : "ver e alterar"}` : `${words(area)}: ${verb === "view" ? "view" : "view and change"}`;
}
