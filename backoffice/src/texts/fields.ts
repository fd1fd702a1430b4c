// Portuguese names of fields, by the names of the schema. A field without one shows the words of its name.
const names = `
action:Ação|address:Endereço|address_type:Tipo de endereço|addresses:Endereços|allocation_type:Forma de alocação|allocations:Depósitos|alt:Texto alternativo
amount_cents:Valor|areas:Áreas|area_name:Nome da área|at:Quando|actor_kind:Autor|attachments:Anexos|attempts:Tentativas|attempt_list:Tentativas
available_at:Disponível em|available_before:Disponível antes de|available_cents:Disponível|available_quantity:Quantidade disponível
average_rating:Nota média|balance:Saldo|balance_cents:Saldo|base_cents:Preço base|below_category_id:Na categoria ou abaixo
billing_address:Endereço de cobrança|blurhash:Blurhash|bonuses:Bônus|bonus_list:Bônus|boleto:Boleto|box:Caixa|box_id:Caixa|bytes:Tamanho|call:Chamada|card:Cartão
carrier:Transportadora|carts:Carrinhos|categories:Categorias|category:Categoria|category_id:Categoria principal|category_ids:Categorias
charge_id:Cobrança|charges:Cobranças|children:Subcategorias|choices:Escolhas|cities:Cidades|city:Cidade|client_id:ID do cliente
cnpj:CNPJ|code:Código|color:Cor|combination_id:Combinação|combinations:Combinações|comments:Comentários|commission:Comissão|commission_percent:Comissão (%)
commission_type:Tipo de comissão|company_name:Empresa|compare_at_cents:Preço de comparação|comparison:Comparação|complement:Complemento
conditions:Condições|condition_tree:Condições|contact_name:Contato|content:Conteúdo|countries:Países|country:País|country_code:País|coupon_code:Cupom|cpf:CPF
created_at:Criado em|created_before:Criado antes de|created_from:Criado a partir de|credit_limit_cents:Limite de crédito|currency:Moeda
customer:Cliente|customer_id:Cliente|customer_email:E-mail do cliente|days:Dias|default_billing_address:Endereço de cobrança padrão
default_shipping_address:Endereço de entrega padrão|delivered_at:Entregue em|delivery_time:Prazo de entrega|description:Descrição
descriptions:Descrições|destination:Destino|destination_id:Destino|details:Notas internas|direction:Direção
disabled_reason:Motivo da desativação|discount_cents:Desconto|display_on_catalog:Mostrar no catálogo|display_on_product:Mostrar no produto
district:Bairro|document:Documento|due_at:Vencimento|duration_ms:Duração (ms)|email:E-mail|email_verified:E-mail confirmado|endpoint:Endpoint
endpoint_id:Endpoint|error:Erro|error_code:Código do erro|error_count:Erros|error_message:Mensagem de erro|event:Evento|event_id:ID do evento
event_type:Tipo de evento|events:Eventos|expires_at:Expira em|user_agent:Navegador|failing_since:Falhando desde|failure:Falha|feature_id:Característica
features:Características|fields:Campos extras|file_name:Nome do arquivo|file_size:Tamanho do arquivo|filename:Nome do arquivo
filesize:Tamanho|filterable:Filtrável|finished_at:Terminado em|firstname:Primeiro nome|fiscal_data:Nota fiscal|free_from_cents:Grátis a partir de
free_shipping:Frete grátis|from_at:Início|full_description:Descrição completa|gateway:Gateway|gateway_charge_id:Cobrança no gateway
group:Grupo|group_id:Grupo|group_key:Chave do grupo|gtin:GTIN (EAN)|height:Altura|height_mm:Altura (mm)|handle:Identificador|hint:Final|history:Histórico
hold_minutes:Reserva (minutos)|id:ID|image:Imagem|image_alt:Texto alternativo da imagem|image_height:Altura da imagem|image_url:URL da imagem
image_width:Largura da imagem|images:Imagens|imported:Importado|installed_app:Aplicativo|installed_app_id:Aplicativo|installed_at:Instalado em
installments:Parcelas|instructions:Instruções|inventory:Controla estoque|ip_address:Endereço IP|is_available:Disponível|is_built_in:Padrão
is_default:Padrão|is_edp:Produto digital|is_listed:Aparece na loja|is_owner:Dono da loja|is_split:Dividido pelo gateway
issued_coupons:Cupons dados|items:Itens|kind:Tipo|label_url:Etiqueta|lang_code:Idioma|last_error:Último erro|last_failure_at:Última falha
last_login_at:Último acesso|last_status:Último status|last_success_at:Último sucesso|last_used_at:Último uso|lastname:Sobrenome
latitude:Latitude|length_mm:Comprimento (mm)|letter:Letra|limit_cents:Limite|lines:Linhas|link:Link|longitude:Longitude
main_image:Imagem|manager:Representante|manager_id:Representante|max_items_in_box:Máximo por caixa|max_quantity:Quantidade máxima
max_weight_grams:Peso máximo (g)|media:Arquivo|media_id:Arquivo|message:Mensagem|meta_description:Descrição para buscadores
meta_keywords:Palavras-chave|mime_type:Tipo|min_amount_cents:Valor mínimo|min_items_in_box:Mínimo por caixa|min_quantity:Quantidade mínima
min_weight_grams:Peso mínimo (g)|mode:Modo|modifier:Acréscimo|modifier_type:Tipo de acréscimo|name:Nome|next_try_at:Próxima tentativa
note:Nota|notes:Observações|notify:Avisar o cliente|number:Número|object_count:Registros|object_id:Objeto|object_type:Tipo de objeto
on_hand:Em estoque|option:Opção|option_id:Opção|options:Opções|order:Pedido|order_id:Pedido|order_placed_at:Data do pedido
order_status:Status do pedido|orders:Pedidos|origin:Origem|page_title:Título da página|paid_at:Pago em|paid_cents:Pago|params:Efeitos
parent:Pai|parent_id:Pai|partner:Parceiro|partner_id:Parceiro|password:Senha|path:Caminho|paused_until:Pausado até|payment:Pagamento
payment_code:Condição de pagamento|payment_code_id:Condição de pagamento|payment_id:Pagamento|payment_method:Forma de pagamento
payment_method_id:Forma de pagamento|payment_status:Pagamento|payments:Pagamentos|payout:Repasse|payout_id:Repasse|per_address:Por endereço
per_item_cents:Por item|per_kg_cents:Por kg|phone:Telefone|pix:Pix|point_entries:Pontos|points:Pontos|points_cents:Pontos em reais
points_earned:Pontos ganhos|points_spent:Pontos gastos|points_to_use:Pontos a usar|position:Posição|prefix:Prefixo|price_cents:Preço
price_from:Preço a partir de|price_includes_tax:Preço inclui imposto|price_range:Faixa de preço|price_to:Preço até|pricing:Preço com promoções
priority:Prioridade|promotion:Promoção|promotions:Promoções|privileges:Privilégios|processed:Processada|processed_at:Processada em|processor:Processador
processor_params:Parâmetros do processador|product:Produto|product_count:Produtos|product_id:Produto|product_ids:Produtos|products:Produtos
properties:Propriedades|quantity:Quantidade|query:Consulta|rate_calculation:Cálculo|rate_limit:Limite por minuto|rate_params:Parâmetros do frete
rate_source:Origem do frete|rate_type:Tipo de taxa|rate_value:Taxa|rates:Taxas|rating:Nota|read_at:Lida em|reason:Motivo
recipient_id:Recebedor|refunded_cents:Reembolsado|refunds:Reembolsos|regnumber:Registro|related:Relacionados|request_id:ID da requisição
required:Obrigatória|required_products:Produtos exigidos|restock:Devolver ao estoque|reserved:Reservado|result:Resultado|review_count:Avaliações|reviews:Avaliações
role:Papel|root_object_count:Registros principais|scopes:Permissões|search:Buscar|section:Seção|seo:Buscadores|seo_title:Título para buscadores
sequence:Sequência|server_side:Para servidores|service:Serviço|settles_at_once:Recebe na hora|sha256:SHA-256|shipments:Envios
shipping_address:Endereço de entrega|shipping_cents:Frete|shipping_delay:Atraso no envio|shipping_freight_cents:Acréscimo de frete
shipping_id:Forma de envio|shipping_method:Forma de envio|shipping_method_id:Forma de envio|shipping_name:Forma de envio
shipping_quote:Cotação do frete|shippings:Formas de envio|short_description:Descrição curta|sku:SKU|slug:Endereço (slug)|source_url:Origem
srcset:Tamanhos|started_at:Iniciado em|state:Estado|states:Estados|status:Status|stock:Estoque|stock_from:Estoque a partir de
stock_to:Estoque até|stop:Parar aqui|street:Rua|subject_id:Registro|subject_type:Tipo do registro|subtotal_cents:Subtotal|suffix:Sufixo
surcharge_cents:Acréscimo|surcharge_percent:Acréscimo (%)|tax_cents:Impostos|tax_id:Imposto|tax_ids:Impostos|taxes:Impostos
thread_id:Tópico|time_from:Das|time_to:Até|title:Título|to_at:Fim|total_cents:Total|total_from:Total a partir de|total_to:Total até
tracking:Controle de estoque|tracking_code:Código de rastreio|tracking_events:Rastreio|tracking_number:Código de rastreio|tries:Tentativas
type:Tipo|unsigned:Sem assinatura|updated_at:Alterado em|updated_from:Alterado a partir de|url:URL|usage_limit:Limite de usos|used:Usos
used_cents:Usado|user:Usuário|user_id:Usuário|user_type:Papel|usergroup:Grupo|usergroup_id:Grupo|usergroup_name:Grupo|usergroups:Grupos
value:Valor|variant:Variante|variant_id:Variante|variant_ids:Variantes|values:Valores|variants:Variantes|vendor:Vendedor|vendor_id:Vendedor
vendor_name:Vendedor|warehouse:Depósito|warehouse_id:Depósito|warehouse_name:Depósito|warehouse_stock:Estoque por depósito|weight_grams:Peso (g)|width:Largura|width_mm:Largura (mm)|zipcode:CEP|zipcodes:CEPs
zipcode_from:CEP de|zipcode_to:CEP até|zone:Zona|delivers:Entrega|covers_zipcode:Atende o CEP|code_erp:Código no ERP|is_mailed:Enviado
chave_nota:Chave de acesso|nota_fiscal:Número da nota|link_nota:Link da nota|pdf_nota:PDF da nota|xml_nota:XML da nota
codigo_pedido_erp:Código no ERP|occurred_at:Quando|latest:Último|min_cents:Mínimo|max_cents:Máximo|first_cents:Primeira|token:Token
description_text:Descrição em texto|quantity_step:Vendido em múltiplos de|quantity_choices:Quantidades à escolha|low_stock_limit:Limite de estoque baixo
available_since:Disponível desde|out_of_stock_action:Sem estoque|zero_price_action:Com preço zero|unlimited_download:Download sem limite
promo_text:Texto promocional|exception_type:Tipo das exceções|option_order:Ordem das opções|details_layout:Modelo da página|search_words:Palavras de busca|hidden:Oculta|fax:Fax|box_min_quantity:Mínimo por caixa|box_max_quantity:Unidades por caixa|in_doubt:Em dúvida|allowed_next:Próximos status|ncm:NCM|variation_group:Grupo de variações|variation_group_id:Grupo de variações
active_at:Vale desde|collection:Coleção|collection_id:Coleção|allowed_extensions:Extensões aceitas|area:Área|area_id:Área|available_combination_ids:Combinações disponíveis|available_from:Disponível a partir de
banner:Banner|barcode:Código de barras|base64_xml:XML da nota (Base64)|base_price_cents:Preço sem promoções|brand:Bandeira|caller:Quem chama|cart_id:Carrinho|cents:Valor
chave_nota_valid:Chave de acesso válida|combination:Combinação|commission_cents:Comissão|days_max:Máximo de dias|days_min:Mínimo de dias|discount:Desconto
extra:Notas da equipe|feature:Característica|field:Campo|first_used_at:Primeiro uso|flag:Sim ou não|forced:Forçado|from_status:Status anterior|grams:Peso (g)
hash:Chave das escolhas|holds:Atendidas|ids:Registros|in_advance:Venda antecipada|included:Incluso no preço|input:Dados|is_default_billing:Padrão para cobrança
is_default_shipping:Padrão para entrega|is_deprecated:Obsoleto|is_used:Usado|keywords:Palavras-chave|last_event:Último evento|last_four:Final do cartão|line:Linha digitável
line_id:Item do pedido|location:Local|match:Quantas valem|max_file_size:Tamanho máximo do arquivo (KiB)|modifier_cents:Acréscimo|offered_by:Oferecido por|operator:Comparação
option_name:Opção|page:Página|page_id:Página|pdf_url:PDF|pending_cents:A liberar|privilege:Privilégio|promotion_id:Promoção|purpose:Finalidade
qr_png_url:QR code (PNG)|qr_svg:QR code (SVG)|shipped_quantity:Quantidade enviada|shipping_method_ids:Formas de envio|since:Desde|source:Origem|storefront_key:Chave de vitrine
storefront_key_id:Chave de vitrine|tag:Etiqueta|tags:Etiquetas|target:Destino|tax:Imposto|texts:Textos|to_status:Status novo|trusted_documents_only:Só documentos confiáveis
until:Até|used_from:Usos a partir de|uses:Usos|value_int:Valor em número|variables_from:Textos do idioma|variant_name:Variante
cause:Causa|count:Quantidade|documents:Documentos|from:De|host:Endereço|image_path:Imagem|immediate:Imediata|names:Nomes|other:Outro|password_changed_at:Senha alterada em
password_hash:Senha|rows:Linhas|session:Sessão
`;

export const FIELDS: Readonly<Record<string, string>> = Object.fromEntries(
  names.split(/[|\n]/).filter(Boolean).map((pair) => pair.split(":", 2) as [string, string]),
);
