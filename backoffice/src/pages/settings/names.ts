// The store's settings in Portuguese, in the order in which they are shown. One without is shown by the words of its name.
const names = `
support_email:E-mail de atendimento|support_phone:Telefone de atendimento|contact_address:Endereço da loja|time_zone:Fuso horário|logo_url:URL do logo
order_mails:Enviar e-mails sobre pedidos|mail_order_placed:E-mail: pedido feito|mail_order_paid:E-mail: pedido pago
mail_order_shipped:E-mail: pedido enviado|mail_order_complete:E-mail: pedido concluído|mail_order_cancelled:E-mail: pedido cancelado
mail_order_refunded:E-mail: pedido reembolsado|mail_order_payment_failed:E-mail: pagamento recusado ou vencido
mail_order_payment_pending:E-mail: aguardando Pix ou boleto|mail_order_status:E-mail: outro status, quando pedido
order_url:Página da loja que mostra um pedido|tracking_url:Página de rastreio, com {code}
products_require_category:Produtos precisam de categoria|vendor_products_need_approval:Aprovar produtos de vendedores
reviews_need_approval:Aprovar avaliações|payout_days:Dias até o repasse|payout_minimum_cents:Repasse mínimo, em centavos
payment_gateway:Módulo do gateway de pagamento|payment_gateway_secret:Chave dos avisos do gateway|pix_minutes:Validade do Pix, em minutos
boleto_days:Vencimento do boleto, em dias|installments:Parcelas do cartão|statement_descriptor:Nome na fatura do cartão
split_recipient_id:Recebedor da loja no gateway|split_liable:Quem responde por contestações|split_fees:Quem paga as taxas do gateway
catalogue_max_age:Cache do catálogo, em segundos|image_copies:Copiar imagens de links|cart_days:Validade do carrinho, em dias
cart_abandoned_hours:Carrinho abandonado após, em horas|event_days:Guardar eventos por, em dias|point_value_cents:Valor do ponto, em centavos
legacy_dialect:Dialeto da API antiga|legacy_lists:Listas da API antiga|legacy_vendor_keys:Vendedores na API antiga
browser_idle_minutes:Sair após, em minutos sem uso|customers_need_approval:Aprovar cadastros de clientes|account_url:Página da loja que confirma e-mail e senha
best_seller_days:Dias que contam para os mais vendidos|low_stock_at:Avisar quando o estoque chegar a|credit_bureau_url:URL do birô de crédito|credit_bureau_token:Token do birô de crédito
social_instagram:Instagram|social_facebook:Facebook|social_youtube:YouTube|social_tiktok:TikTok|social_pinterest:Pinterest
social_linkedin:LinkedIn|social_x:X|social_whatsapp:WhatsApp
`;

export const SETTING_NAMES: Readonly<Record<string, string>> = Object.fromEntries(
  names.split(/[|\n]/).filter(Boolean).map((pair) => {
    const cut = pair.indexOf(":");
    return [pair.slice(0, cut), pair.slice(cut + 1)];
  }),
);
