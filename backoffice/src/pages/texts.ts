// The texts of the pages made by hand.
import type { Texts } from "../texts/app";
import { ORDERS } from "./orders/texts";

export const PAGES: Texts = {
  ...ORDERS,
  "home.today": ["Pedidos de hoje", "Orders today"],
  "home.week": ["Pedidos em 7 dias", "Orders in 7 days"],
  "home.month": ["Pedidos em 30 dias", "Orders in 30 days"],
  "home.waiting": ["Pagos, a enviar", "Paid, to be shipped"],
  "home.unpaid": ["Aguardando pagamento", "Waiting for payment"],
  "home.low_stock": ["Produtos com pouco estoque", "Products low in stock"],
  "home.notifications": ["Avisos de pagamento não processados", "Payment notices not processed"],
  "home.failed_deliveries": ["Webhooks que falharam", "Failed webhook deliveries"],
  "home.reviews": ["Avaliações a aprovar", "Reviews to approve"],
  "home.by_day": ["Pedidos por dia", "Orders by day"],
};
