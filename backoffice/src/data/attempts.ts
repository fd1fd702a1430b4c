// A change whose answer was lost may have been made: it is sent again with the same Idempotency-Key, so that it isn't made twice
// (docs/reference/shared.md#idempotency).
import { ServerError } from "../graphql/errors";

const UNANSWERED = ["UNREACHABLE", "UNAVAILABLE", "INTERNAL"];

// Pages that come by http from another machine have no crypto.randomUUID.
const newKey = () => Array.from(crypto.getRandomValues(new Uint32Array(4)), String).join("-");

// Runs one change at a time with a key, which is another one for other values, and after an answer.
export function attempts(): <T>(values: unknown, run: (key: string) => Promise<T>) => Promise<T> {
  let last: { text: string; key: string } | undefined;
  return async (values, run) => {
    const text = JSON.stringify(values);
    if (last?.text !== text) last = { text, key: newKey() };
    const { key } = last;
    try {
      const answer = await run(key);
      last = undefined;
      return answer;
    } catch (error) {
      if (!(error instanceof ServerError && UNANSWERED.includes(error.code))) last = undefined;
      throw error;
    }
  };
}
