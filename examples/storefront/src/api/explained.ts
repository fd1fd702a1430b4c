// For the refusals of a page's operations: `request(…).catch(explained({ reason: "…" }))`.

import { Refusal } from "./errors";

export const explained = (messages: Record<string, string>) => (error: unknown) => {
  throw error instanceof Refusal ? error.explain(messages) : error;
};
