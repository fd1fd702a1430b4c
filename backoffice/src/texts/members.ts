// Members of enums in Portuguese, by their description in the schema.
const texts = `
Active:Ativo|Disabled:Inativo|Hidden:Oculto|Pending:Pendente|New:Novo|Tracked:Controlado|Not tracked:Sem controle|Paid:Pago|Not paid:Não pago
Fully refunded:Reembolsado|Available:Disponível|Read:Lida|Unread:Não lida|Customer:Cliente|Vendor:Vendedor|Admin:Administrador|Order:Pedido
Orders:Pedidos|Product:Produto|Category:Categoria|Page:Página|Shipment:Envio|Text:Texto|Number:Número|Date:Data|File:Arquivo|Group:Grupo
Checkbox:Caixa de seleção|Checkboxes:Caixas de seleção|Select:Lista|Selectbox:Lista|Radio:Botões|Input:Campo|Textarea:Área de texto
Allowed:Permitida|Forbidden:Proibida|Percentage:Porcentagem|Absolute:Valor fixo|Fixed:Fixo|Shipping:Entrega|Billing:Cobrança|Completed:Concluído
In progress:Em andamento|No answer:Sem resposta|Form:Formulário|Link:Link|Blog:Blog|Live:Produção|Test:Teste|Low stock:Estoque baixo
Credit:Crédito|Debit:Débito|High:Alto|Medium:Médio|Low:Baixo|Brand:Marca|Extended:Estendida|Comment:Comentário|Rating:Nota|Both:Ambos
Left to right:Da esquerda para a direita|Right to left:Da direita para a esquerda|Deduct:Reserva o estoque|Give back:Libera o estoque
To be transferred:A transferir|Transferred:Transferido|Returned to the balance:Devolvido ao saldo|Priority:Prioridade|By card:Cartão
By Pix:Pix|By boleto:Boleto|It can be paid, or its gateway has not answered yet:Aguardando|Money was received:Recebido
A part of it was refunded:Reembolsado em parte|All of it was refunded:Reembolsado|It was declined, or could not be made:Recusado
It was not paid in time:Venceu|It was cancelled before it was paid:Cancelado|The customer disputed it:Contestado
A part of the payment was refunded:Reembolsado em parte|The customer disputed the payment:Contestado
The gateway holds the amount for the store:Valor reservado|Declined:Recusado|Not attempted yet:Aguardando
An attempt is running:Em andamento|The endpoint accepted the event:Entregue|All attempts failed:Falhou
The latest attempt failed; it is retried at \`next_try_at\`:Nova tentativa marcada|The endpoint was deleted or disabled:Cancelada
The app answered:Respondeu|The app refused:Recusou|There was no valid answer in time:Sem resposta a tempo|It is shown:Pronto
Its upload, or the fetch of its source, is awaited:Aguardando|It could not be fetched; \`error\` says why:Falhou
No worker has begun:Na fila|A worker executes it:Em andamento|The result can be loaded:Concluída|It stopped with an error:Falhou
It was cancelled:Cancelado|It was cancelled and is about to stop:Cancelando|It reads records:Leitura|It writes records:Escrita
An administrator:Administrador|A user of a vendor:Vendedor|A customer:Cliente|An installed app:Aplicativo
A storefront, without a signed-in customer:Vitrine|The platform itself:Sistema|Lines of a paid order:Itens de pedido pago
Shipping of a paid order:Frete de pedido pago|The store's commission on a vendor's lines:Comissão da loja
Taken back by a refund or chargeback:Reembolso ou contestação|The commission on what was refunded:Comissão devolvida
Paid out to the vendor, or returned by a cancelled payout:Repasse|A correction by an administrator:Correção
Discounts of the store:Descontos da loja|The surcharge of the payment:Acréscimo do pagamento
Taxes that are added to the prices:Impostos somados ao preço|A paid order earned them:Ganhos em pedido|An order spent them:Gastos em pedido
The order was cancelled or refunded:Pedido cancelado ou reembolsado|They were set by staff or an app:Ajuste
The order that spent them was cancelled, refunded or reduced:Devolvidos|A whole order:O pedido inteiro|The price of each product:O preço do produto
Equal to it:Igual a|Not equal to it:Diferente de|One of them:Um destes|None of them:Nenhum destes|Contains it:Contém|Doesn't contain it:Não contém
At least it:No mínimo|More than it:Mais de|At most it:No máximo|Less than it:Menos de
A boolean, \`Y\` or \`N\`:Sim ou não|A text:Texto|A whole number:Número inteiro|One of its variants:Escolha|A secret:Segredo
Its own prices and rates:Tabela própria|An installed app, by a call:Aplicativo|A carrier fails:Falha da transportadora|Exclusive:Exclusivo
In maintenance:Em manutenção|Realtime:Em tempo real|Manual:Manual|Plain number:Número|Testimonials:Depoimentos|Author:Autor
A coupon of another promotion:Um cupom de outra promoção|A discount on products:Desconto em produtos|A discount on what remains of the order:Desconto no restante do pedido
All of them:Todas|At least one:Ao menos uma|Free shipping:Frete grátis|Frenet:Frenet|Melhor Envio:Melhor Envio|It was made:Feito|Less this amount; on products, per unit:Menos este valor; em produtos, por unidade
Less this share:Menos esta porcentagem|To this amount; on products, per unit:Para este valor; em produtos, por unidade|To this share:Para esta porcentagem
Money that belongs to no part of an order: paid too much, not recorded as paid, or not refunded yet:Valor sem parte do pedido: pago a mais, não registrado ou ainda não reembolsado
Products at price 0:Produtos de brinde|Reward points:Pontos|Sent by an app:Enviado por um aplicativo|The gateway has not answered yet:Aguardando o gateway
Takes \`cents\`:Um valor|Takes \`flag\`:Sim ou não|Takes \`grams\`:Um peso|Takes \`ids\`:Registros|Takes \`number\`:Um número|Takes \`products\`:Produtos|Takes \`texts\`:Textos
The gateway refused it:Recusado pelo gateway|Without a gateway; the store confirms it:Sem gateway; a loja confirma
`;

export const MEMBERS: Readonly<Record<string, string>> = Object.fromEntries(
  texts.split(/[|\n]/).filter(Boolean).map((line) => {
    const cut = line.lastIndexOf(":");
    return [line.slice(0, cut), line.slice(cut + 1)];
  }),
);
