// The names of actions in Portuguese and English; others are named by the words of their mutations.
import { locale } from ".";

const NAMES: Readonly<Record<string, readonly [portuguese: string, english: string]>> = {
  order_set_status: ["Mudar o status", "Set the status"],
  order_reorder: ["Copiar para um carrinho", "Copy to a cart"],
  order_set_fiscal_data: ["Nota fiscal", "Fiscal note"],
  payment_cancel: ["Cancelar o pagamento", "Cancel the payment"],
  payment_report: ["Informar o pagamento", "Report the payment"],
  payment_refund: ["Reembolsar", "Refund"],
  payout_mark_paid: ["Marcar como pago", "Mark as paid"],
  payout_cancel: ["Cancelar o repasse", "Cancel the payout"],
  shipment_add_tracking_events: ["Adicionar rastreio", "Add tracking"],
  product_required_products_set: ["Produtos exigidos", "Required products"],
  product_variation_detach: ["Tirar do grupo de variações", "Take out of the variation group"],
  product_variation_set_default: ["Variação principal", "Make the main variation"],
  product_variations_generate: ["Gerar variações", "Generate variations"],
  product_warehouse_stock_set: ["Estoque por depósito", "Stock by warehouse"],
  usergroup_membership_set: ["Participação de um usuário", "Membership of a user"],
  user_anonymize: ["Apagar dados pessoais (LGPD)", "Erase personal data (LGPD)"],
  user_set_privileges: ["Privilégios", "Privileges"],
  user_session_end: ["Encerrar a sessão", "End the session"],
  storefront_key_revoke: ["Revogar", "Revoke"],
  event_delivery_redeliver: ["Entregar de novo", "Deliver again"],
  event_endpoint_ping: ["Testar", "Send a test"],
  event_endpoint_replay: ["Repetir eventos", "Replay events"],
  gateway_notification_reprocess: ["Processar de novo", "Process again"],
  notification_mark_read: ["Marcar como lida", "Mark as read"],
  bulk_operation_cancel: ["Cancelar", "Cancel"],
};

export function actionName(action: string, entity: string): string {
  const pair = NAMES[action];
  if (pair) return pair[locale() === "pt-BR" ? 0 : 1];
  const words = action.slice(entity.length + 1).replaceAll("_", " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}
