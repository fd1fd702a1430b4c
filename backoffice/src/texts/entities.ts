// Names of entities, in Portuguese: the plural and the singular. One without is shown by the words of its name.
const names = `
product:Produtos:Produto|category:Categorias:Categoria|collection:Coleções:Coleção|feature:Características:Característica|media_file:Arquivos:Arquivo
option:Opções:Opção|combination:Combinações:Combinação|option_exception:Exceções de opções:Exceção de opções|variation_group:Grupos de variações:Grupo de variações|attachment:Anexos:Anexo
product_box:Caixas:Caixa|box_description:Descrições de caixas:Descrição de caixa|order:Pedidos:Pedido|customer_cart:Carrinhos:Carrinho
status:Status:Status|user:Clientes e usuários:Usuário|usergroup:Grupos de usuários:Grupo|point_entry:Pontos:Lançamento de pontos|user_session:Sessões abertas:Sessão
vendor:Vendedores:Vendedor|review:Avaliações:Avaliação|vendor_account:Contas de vendedores:Conta|ledger_entry:Extrato:Lançamento
payout:Repasses:Repasse|language_variable:Textos:Texto|language:Idiomas:Idioma|page:Páginas:Página|block:Blocos:Bloco|menu:Menus:Menu|redirect:Redirecionamentos:Redirecionamento
subscriber:Assinantes:Assinante|call_request:Pedidos de ligação:Pedido de ligação|setting:Configurações:Configuração
payment_method:Formas de pagamento:Forma de pagamento|payment:Pagamentos:Pagamento
gateway_notification:Notificações do gateway:Notificação do gateway|shipping_method:Formas de envio:Forma de envio|shipment:Envios:Envio
destination:Destinos:Destino|tax:Impostos:Imposto|promotion:Promoções:Promoção|installed_app:Aplicativos:Aplicativo
app_call:Chamadas a aplicativos:Chamada|storefront_key:Chaves de vitrine:Chave|schema_usage:Uso do GraphQL:Uso|event_endpoint:Webhooks:Webhook
event_delivery:Entregas de webhooks:Entrega|bulk_operation:Operações em massa:Operação|manager:Representantes:Representante
payment_code:Condições de pagamento:Condição de pagamento|business_partner:Parceiros:Parceiro|mix_product:Preços por parceiro:Preço
manager_transaction:Comissões:Comissão|order_limit:Limites de pedido:Limite|audit_entry:Auditoria:Registro|notification:Avisos:Aviso
warehouse:Depósitos:Depósito|warehouse_area:Áreas de depósitos:Área|warehouse_usergroup:Grupos de depósitos:Grupo
`;

export const ENTITIES: Readonly<Record<string, readonly [string, string]>> = Object.fromEntries(
  names.split(/[|\n]/).filter(Boolean).map((line) => {
    const [name = "", plural = name, singular = plural] = line.split(":");
    return [name, [plural, singular] as const];
  }),
);
