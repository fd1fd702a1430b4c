// What a person reads for the codes of errors. An unknown one shows the server's own message.
const PORTUGUESE: Readonly<Record<string, string>> = {
  UNREACHABLE: "O servidor não respondeu. Verifique a conexão e tente de novo.",
  UNAUTHENTICATED: "Sua sessão terminou. Entre de novo.",
  FORBIDDEN: "Você não tem permissão para isto.",
  NOT_FOUND: "Este registro não existe mais.",
  RATE_LIMITED: "Muitas tentativas. Espere um minuto.",
  TENANT_CLOSED: "A loja está fechada para alterações.",
  UNAVAILABLE: "O servidor está ocupado. Tente de novo em instantes.",
  INTERNAL: "Algo deu errado no servidor.",
  VALIDATION_FAILED: "Há campos com erro.",
  CONFLICT: "O registro está em conflito com outro.",
  changed_meanwhile: "O registro foi alterado enquanto você o editava.",
  required: "Obrigatório",
  taken: "Já existe",
  invalid: "Inválido",
  not_found: "Não existe",
  too_long: "Longo demais",
  too_many: "Itens demais",
  too_small: "Pequeno demais",
  too_large: "Grande demais",
  email_invalid: "E-mail inválido",
  email_taken: "Este e-mail já tem conta",
  password_invalid: "A senha precisa de 8 a 128 caracteres",
  price_invalid: "Preço inválido",
  sku_taken: "Este SKU já existe",
  slug_taken: "Este endereço já existe",
  name_required: "Informe o nome",
  cpf_invalid: "CPF inválido",
  cnpj_invalid: "CNPJ inválido",
  status_invalid: "Status inválido",
  media_in_use: "O arquivo está em uso",
};
const CODED: Readonly<Record<string, string>> = { invalid: "inválido", required: "é obrigatório", taken: "já existe", unknown: "desconhecido" };

let isPortuguese = true;

export function useErrorsIn(locale: string): void {
  isPortuguese = locale === "pt-BR";
}

export function errorText(code: string, message: string): string {
  if (!isPortuguese) return message || code.replaceAll("_", " ");
  const [, stem, ending] = /^([a-z_]+)_(invalid|required|taken|unknown)$/.exec(code) ?? [];
  const derived = stem && ending ? `Valor ${CODED[ending] ?? ""}` : undefined;
  return PORTUGUESE[code] ?? derived ?? message;
}
