// The texts of the pages made by hand.
import type { Texts } from "../texts/app";
import { APPS } from "./apps/texts";
import { AUDIT } from "./audit/texts";
import { BULK } from "./bulk/texts";
import { CUSTOMERS } from "./customers/texts";
import { MENUS } from "./menus/texts";
import { ORDERS } from "./orders/texts";
import { PRODUCTS } from "./products/texts";
import { PROMOTIONS } from "./promotions/texts";
import { SETTINGS } from "./settings/texts";
import { VENDORS } from "./vendors/texts";

export const PAGES: Texts = {
  ...APPS,
  ...AUDIT,
  ...BULK,
  ...CUSTOMERS,
  ...MENUS,
  ...ORDERS,
  ...PRODUCTS,
  ...PROMOTIONS,
  ...SETTINGS,
  ...VENDORS,
  "home.sales": ["Vendas", "Sales"],
  "home.period": ["Período", "Period"],
  "home.day": ["Hoje", "Today"],
  "home.week": ["7 dias", "7 days"],
  "home.month": ["30 dias", "30 days"],
  "home.orders": ["%{smart_count} pedido |||| %{smart_count} pedidos", "%{smart_count} order |||| %{smart_count} orders"],
  "home.when": ["Quando", "When"],
  "home.count": ["Pedidos", "Orders"],
  "home.sum": ["Valor", "Amount"],
  "home.in_doubt": ["Pagamentos em dúvida", "Payments in doubt"],
  "home.waiting": ["Pagos, a enviar", "Paid, to be shipped"],
  "home.unpaid": ["Aguardando pagamento", "Waiting for payment"],
  "home.low_stock": ["Produtos com pouco estoque", "Products low in stock"],
  "home.notifications": ["Avisos de pagamento não processados", "Payment notices not processed"],
  "home.failed_deliveries": ["Webhooks que falharam", "Failed webhook deliveries"],
  "home.vendors": ["Vendedores a aprovar", "Vendors to approve"],
  "home.balance": ["Disponível para repasse", "Available for a payout"],
  "home.reviews": ["Avaliações a aprovar", "Reviews to approve"],
};
