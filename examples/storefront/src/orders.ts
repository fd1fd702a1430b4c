// Values of orders as customers read them: none is on a page that is loaded first.

const times = new Intl.DateTimeFormat("pt-BR", { dateStyle: "short", timeStyle: "short" });

export const dateTime = (text: string): string => times.format(new Date(text));

interface Address {
  name: string;
  street: string;
  number: string;
  complement: string;
  district: string;
  city: string;
  state: string;
  zipcode: string;
}

export function addressLines(address: Address): string[] {
  const street = [address.street, address.number].filter(Boolean).join(", ");
  const place = [address.city, address.state].filter(Boolean).join(" – ");
  return [
    address.name,
    [street, address.complement].filter(Boolean).join(", "),
    [address.district, place].filter(Boolean).join(", "),
    `CEP ${address.zipcode.replace(/^(\d{5})-?(\d{3})$/, "$1-$2")}`,
  ].filter(Boolean);
}

const PAYMENT = {
  unpaid: "Aguardando pagamento",
  paid: "Pago",
  partially_refunded: "Devolvido em parte",
  refunded: "Devolvido",
  chargeback: "Contestado",
};

const CLOSED: Record<string, string> = { C: "Entregue", D: "Pagamento recusado", F: "Não pago", I: "Cancelado" };

/** Describe an order in one phrase; statuses that a store added are not known here. */
export function orderStatus(order: { status: string; payment_status: keyof typeof PAYMENT }): string {
  return CLOSED[order.status] ?? PAYMENT[order.payment_status];
}
