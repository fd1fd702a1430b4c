// Values as customers read them.

const currencies = new Map<string, Intl.NumberFormat>();

/** Format an amount of cents. */
export function money(cents: number, currency: string): string {
  let format = currencies.get(currency);
  if (!format) currencies.set(currency, (format = new Intl.NumberFormat("pt-BR", { style: "currency", currency })));
  return format.format(cents / 100);
}

const percents = new Intl.NumberFormat("pt-BR", { style: "percent", maximumFractionDigits: 2 });

/** Format hundredths of a percent. */
export const percent = (hundredths: number): string => percents.format(hundredths / 10_000);

const dates = new Intl.DateTimeFormat("pt-BR", { dateStyle: "long" });

export const date = (text: string): string => dates.format(new Date(text));

const times = new Intl.DateTimeFormat("pt-BR", { dateStyle: "short", timeStyle: "short" });

export const dateTime = (text: string): string => times.format(new Date(text));

export const count = (n: number, one: string, many: string): string => `${n.toLocaleString("pt-BR")} ${n === 1 ? one : many}`;

/** Return the text of an HTML fragment, such as the instructions of a payment method. */
export function plainText(html: string): string {
  return new DOMParser().parseFromString(html, "text/html").body.textContent?.trim() ?? "";
}

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
