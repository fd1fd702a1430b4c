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

export const count = (n: number, one: string, many: string): string => `${n.toLocaleString("pt-BR")} ${n === 1 ? one : many}`;

/** Return the text of an HTML fragment, such as the instructions of a payment method. */
export function plainText(html: string): string {
  return new DOMParser().parseFromString(html, "text/html").body.textContent?.trim() ?? "";
}
