// Texts in Portuguese and English. What is derived from the schema is named by its tables here, else by the words of its own names.
import polyglotI18nProvider from "ra-i18n-polyglot";
import english from "ra-language-english";
import { APP, type Texts } from "./app";
import { ENTITIES } from "./entities";
import { useErrorsIn } from "./errors";
import { FIELDS } from "./fields";
import { MEMBERS } from "./members";
import { portuguese } from "./ra";
import { PAGES } from "../pages/texts";

export type Locale = "pt-BR" | "en";
const STORED = "vitrine.locale";

function texts(position: 0 | 1): Record<string, string> {
  const all: Texts = { ...APP, ...PAGES };
  return Object.fromEntries(Object.entries(all).map(([key, pair]) => [key, pair[position]]));
}

let current: Locale = localStorage.getItem(STORED) === "en" ? "en" : "pt-BR";
apply(current);

function apply(locale: Locale): void {
  current = locale;
  document.documentElement.lang = locale;
  useErrorsIn(locale);
}

// The messages of react-admin's components are an object of objects, ours one of dotted keys: polyglot takes both.
export const i18nProvider = polyglotI18nProvider(
  (locale) => {
    apply(locale as Locale);
    localStorage.setItem(STORED, locale);
    return locale === "en" ? { ...english, ...texts(1) } : { ra: { ...english.ra, ...portuguese.ra }, ...texts(0) };
  },
  current,
  [{ locale: "pt-BR", name: "Português" }, { locale: "en", name: "English" }],
  { allowMissing: true },
);

export function locale(): Locale {
  return current;
}

export function words(name: string): string {
  const text = name.replaceAll("_", " ").replace(/ (cents|id|ids)$/, "");
  return text.charAt(0).toUpperCase() + text.slice(1);
}

// English names of fields that aren't the words of the schema.
const ENGLISH: Readonly<Record<string, string>> = {
  bonus_list: "Bonuses", condition_tree: "Conditions", cnpj: "CNPJ", cpf: "CPF", firstname: "First name", gtin: "GTIN", lastname: "Last name", ncm: "NCM",
  sku: "SKU", url: "URL", usergroups: "User groups", zipcode: "Zip code",
};

export function fieldName(name: string): string {
  return (current === "pt-BR" ? FIELDS : ENGLISH)[name] || words(name);
}

export function entityName(name: string, count: 1 | 2 = 2): string {
  if (current === "pt-BR") return ENTITIES[name]?.[count === 2 ? 0 : 1] ?? words(name);
  const singular = words(name);
  return count === 1 ? singular : /[^aeiou]y$/.test(singular) ? `${singular.slice(0, -1)}ies` : /s$|x$/.test(singular) ? `${singular}es` : `${singular}s`;
}

export function memberName(description: string): string {
  return (current === "pt-BR" && MEMBERS[description]) || description;
}
