// Errors of /graphql in the customer's language, by `extensions` (docs/reference/graphql.md#errors).

import type { CombinedError } from "@urql/core";

const HIGHLIGHTED = "Confira os campos destacados.";
const NOT_ACCEPTED = "Isto não foi aceito. Confira o que você preencheu.";
const MESSAGES: Record<string, string> = {
  VALIDATION_FAILED: HIGHLIGHTED,
  UNAUTHENTICATED: "Sua sessão terminou. Entre de novo.",
  FORBIDDEN: "Você não tem acesso a isto.",
  NOT_FOUND: "Não encontramos o que você procura.",
  CONFLICT: "Isto mudou enquanto você estava aqui. Tente de novo.",
  RATE_LIMITED: "Muitas tentativas. Espere um pouco e tente de novo.",
  UNAVAILABLE: "A loja não respondeu. Tente de novo em instantes.",
};
// Those of one page are with it: this is read before the first page is shown.
const REASONS: Record<string, string> = {
  cart_expired: "Seu carrinho expirou.",
  cart_already_ordered: "Este carrinho já virou um pedido.",
  cart_empty: "Seu carrinho está vazio.",
};
const FIELDS: Record<string, string> = {
  required: "Preencha este campo.",
  email_invalid: "Este e-mail não é válido.",
  password_invalid: "Use de 8 a 128 caracteres.",
  password_wrong: "A senha não confere.",
  code_wrong: "O código não confere.",
  zipcode_invalid: "Este CEP não é válido.",
  state_invalid: "Escolha o estado.",
  phone_invalid: "Este telefone não é válido.",
};
// Messages of these codes are written for customers, in Portuguese.
const FOR_CUSTOMERS = new Set(["RULE_VIOLATION", "TENANT_CLOSED"]);
const OFFLINE = "Sem conexão com a loja. Verifique sua internet e tente de novo.";
const UNEXPECTED = "Algo deu errado. Tente de novo.";

interface Extensions {
  code?: string;
  field?: string;
  details?: { reason?: string; fields?: Record<string, string> };
}

/** What the server refused, with a message for the customer and the messages of input fields by name. */
export class Refusal extends Error {
  constructor(
    message: string,
    readonly code: string,
    readonly reason = "",
    readonly fields: Readonly<Record<string, string>> = {},
  ) {
    super(message);
  }

  /** Return it with other messages for some codes, where the operation gives them a meaning. */
  explain(messages: Record<string, string>): Refusal {
    const message = messages[this.reason] ?? messages[this.code];
    return message ? new Refusal(message, this.code, this.reason, this.fields) : this;
  }

  /** Return it with a message for a form that has no input of the refused names, so that none is highlighted. */
  withoutFields(): Refusal {
    return this.message === HIGHLIGHTED ? new Refusal(NOT_ACCEPTED, this.code, this.reason) : this;
  }
}

export function refusalOf(error: CombinedError): Refusal {
  const first = error.graphQLErrors[0];
  if (!first) return new Refusal(OFFLINE, "OFFLINE");
  const { code = "INTERNAL", field, details = {} } = first.extensions as Extensions;
  const { reason = "", fields = field ? { [field]: "invalid" } : {} } = details;
  const texts = Object.fromEntries(Object.entries(fields).map(([name, kind]) => [name, fieldMessage(kind)]));
  const message = REASONS[reason] ?? (FOR_CUSTOMERS.has(code) ? first.message : (MESSAGES[code] ?? UNEXPECTED));
  return new Refusal(message, code, reason, texts);
}

function fieldMessage(kind: string): string {
  return FIELDS[kind] ?? (kind.endsWith("required") ? FIELDS.required! : "Confira este campo.");
}
