// What a refused code of a mail means to the customer.

import { Refusal } from "../api/errors";

export const WRONG_TOKEN = {
  VALIDATION_FAILED: "O código não vale mais. Peça outro.",
  NOT_FOUND: "O código não vale mais. Peça outro.",
  UNAUTHENTICATED: "O código não vale mais. Peça outro.",
};

export const explained = (messages: Record<string, string>) => (error: unknown) => {
  throw error instanceof Refusal ? error.explain(messages) : error;
};
