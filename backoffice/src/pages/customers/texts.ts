// The texts of the pages of customers.
import type { Texts } from "../../texts/app";

export const CUSTOMERS: Texts = {
  "customer.orders": ["Pedidos", "Orders"],
  "customer.all_orders": ["Ver todos os %{count} pedidos", "Show all %{count} orders"],
  "customer.points": ["Pontos: %{count}", "Points: %{count}"],
  "customer.adjust": ["Ajustar pontos", "Adjust the points"],
  "customer.adjust_points": ["Pontos a somar; negativo tira", "Points to add; negative ones are taken"],
  "customer.adjust_invalid": ["Informe um número inteiro, que não seja 0", "Enter a whole number other than 0"],
  "customer.reason": ["Motivo", "Reason"],
  "customer.balance": ["saldo %{count}", "balance %{count}"],
  "customer.addresses": ["Endereços", "Addresses"],
  "customer.default_shipping": ["Entrega", "Shipping"],
  "customer.default_billing": ["Cobrança", "Billing"],
  "customer.privacy": ["Dados pessoais (LGPD)", "Personal data (LGPD)"],
  "customer.privacy_help": [
    "A pessoa pode pedir uma cópia do que a loja sabe dela, ou que seja apagado. Dados de notas fiscais ficam pelo prazo da lei.",
    "A person may ask for a copy of what the store knows of them, or for its erasure. Data of invoices stay as long as the law asks.",
  ],
  "customer.export": ["Exportar os dados", "Export the data"],
  "customer.exported": ["Cópia dos dados salva", "The copy of the data was saved"],
  "customer.erase": ["Apagar os dados", "Erase the data"],
  "customer.erased": ["Dados pessoais apagados", "The personal data were erased"],
  "customer.erase_warning": [
    "Nome, contatos, endereços, carrinhos e avaliações são apagados, e a conta não entra mais. Isto não pode ser desfeito.",
    "Name, contacts, addresses, carts and reviews are erased, and the account can't sign in any more. This can't be undone.",
  ],
  "customer.erase_confirm": ["Para confirmar, digite: %{text}", "To confirm, enter: %{text}"],
  "customer.erase_differs": ["Não é o mesmo texto", "It isn't the same text"],
  "customer.guest": ["Dados de visitantes (LGPD)", "Data of guests (LGPD)"],
  "customer.guest_help": ["Quem comprou sem conta é conhecido só pelo e-mail.", "Who bought without an account is known by the e-mail only."],
  "customer.email": ["E-mail", "E-mail"],
  "customer.email_again": ["O mesmo e-mail de novo, para apagar", "The same e-mail again, to erase"],
};
