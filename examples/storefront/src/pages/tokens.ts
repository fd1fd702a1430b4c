// What a refused code of a mail means to the customer.

export const WRONG_TOKEN = {
  VALIDATION_FAILED: "O código não vale mais. Peça outro.",
  NOT_FOUND: "O código não vale mais. Peça outro.",
  UNAUTHENTICATED: "O código não vale mais. Peça outro.",
};
