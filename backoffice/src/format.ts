// Money, numbers and times, in the language of the page. Times are in the store's zone, wherever the person is.
import { locale } from "./texts";

let zone = "America/Sao_Paulo";
let currency = "BRL";

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

// An amount as a person types it, in cents; NaN for anything else.
export function readMoney(text: string): number {
  const plain = text.replace(/R\$|[$€£\s]/g, "");
  if (!/^-?[\d.,]*\d[\d.,]*$/.test(plain)) return Number.NaN;
  const decimal = Math.max(plain.lastIndexOf(","), plain.lastIndexOf("."));
  const hasDecimals = decimal >= 0 && plain.length - decimal <= 3;
  const whole = (hasDecimals ? plain.slice(0, decimal) : plain).replace(/[.,]/g, "");
  const fraction = hasDecimals ? plain.slice(decimal + 1).padEnd(2, "0") : "00";
  return /^-?\d+$/.test(whole || "0") && /^\d{2}$/.test(fraction) ? Number(`${whole || "0"}${fraction}`) : Number.NaN;
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
  const offset = asUtc - Date.parse(`${toLocal(new Date(asUtc).toISOString())}Z`);
  return new Date(asUtc + offset).toISOString();
}
