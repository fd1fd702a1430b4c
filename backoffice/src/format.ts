// Money, numbers and times, in the language of the page. Times are in the store's zone, wherever the person is.
import { locale } from "./texts";

let zone = "America/Sao_Paulo";
let currency = "BRL";

// The sign that amounts have in the store's currency.
export function currencySign(of: string = currency): string {
  return new Intl.NumberFormat(locale(), { style: "currency", currency: of }).formatToParts(0).find(({ type }) => type === "currency")?.value ?? of;
}

// Those of the store.
export function setStoreFormat(format: { currency: string; time_zone: string }): void {
  currency = format.currency;
  zone = format.time_zone;
}

export function money(cents: number | null | undefined, of: string = currency): string {
  if (cents === null || cents === undefined) return "";
  return new Intl.NumberFormat(locale(), { style: "currency", currency: of }).format(cents / 100);
}

export function number(value: number | null | undefined): string {
  return value === null || value === undefined ? "" : new Intl.NumberFormat(locale()).format(value);
}

export function time(value: string | null | undefined): string {
  return value ? new Intl.DateTimeFormat(locale(), { dateStyle: "short", timeStyle: "short", timeZone: zone }).format(new Date(value)) : "";
}

export function hour(value: string | Date): string {
  return new Intl.DateTimeFormat(locale(), { hour: "2-digit", minute: "2-digit", timeZone: zone }).format(new Date(value));
}

export function day(value: string | Date): string {
  return new Intl.DateTimeFormat(locale(), { day: "2-digit", month: "2-digit", timeZone: zone }).format(new Date(value));
}

const PLAIN = /^(?<whole>-?\d*)(?:[.,](?<fraction>\d{0,2}))?$/;
const GROUPED = /^(?<whole>-?\d{1,3}(?<group>[.,])\d{3}(?:\k<group>\d{3})*)(?:(?!\k<group>)[.,](?<fraction>\d{0,2}))?$/;
// Of the language, which are no thousands.
const THREE_DECIMALS = { "pt-BR": /^-?\d+,\d{3}$/, en: /^-?\d+\.\d{3}$/ } as const;

// An amount as a person types it, in cents; NaN for anything else.
export function readMoney(text: string): number {
  const plain = text.replace(/R\$|[$€£\s]/g, "");
  const { whole = "", fraction = "" } = (PLAIN.exec(plain) ?? GROUPED.exec(plain))?.groups ?? {};
  const cents = Number(`${whole.replace(/[.,]/g, "")}${fraction.padEnd(2, "0")}`);
  return /\d/.test(whole + fraction) && Number.isSafeInteger(cents) && !THREE_DECIMALS[locale()].test(plain) ? cents : Number.NaN;
}

const GROUPS = { "pt-BR": /^-?[1-9]\d{0,2}(\.\d{3})+(,\d*)?$/, en: /^-?[1-9]\d{0,2}(,\d{3})+(\.\d*)?$/ } as const;

// A number as a person types it, with thousands or without; NaN for anything else.
export function readNumber(text: string): number {
  const plain = text.trim();
  const whole = GROUPS[locale()].test(plain) ? plain.replaceAll(locale() === "pt-BR" ? "." : ",", "") : plain;
  return /^-?(\d+[.,]?\d*|[.,]\d+)$/.test(whole) ? Number(whole.replace(",", ".")) : Number.NaN;
}

// A number's text with the decimal sign of the language.
export function decimal(text: string): string {
  return locale() === "pt-BR" ? text.replace(".", ",") : text;
}

export function writeMoney(cents: number): string {
  return new Intl.NumberFormat(locale(), { minimumFractionDigits: 2, maximumFractionDigits: 2 }).format(cents / 100);
}

// The value of an input of type `datetime-local` for a time, and back, in the store's zone.
export function toLocal(value: string): string {
  const parts = new Intl.DateTimeFormat("sv-SE", { dateStyle: "short", timeStyle: "medium", timeZone: zone }).format(new Date(value));
  return parts.replace(" ", "T").slice(0, 16);
}

export function fromLocal(text: string): string {
  const asUtc = Date.parse(`${text}Z`);
  const offsetAt = (time: number) => asUtc - time + (time - Date.parse(`${toLocal(new Date(time).toISOString())}Z`));
  // The zone's offset then may be another one than hours before, where its clocks change.
  const first = asUtc + offsetAt(asUtc);
  return new Date(first + offsetAt(first)).toISOString();
}

// With more digits of the year an input would take what is typed after it.
export const LAST_DAY = "9999-12-31";
