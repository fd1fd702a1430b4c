// Runs a change, says that it was made, and reads everything again that is shown of these entities.
import { useQueryClient } from "@tanstack/react-query";
import { useNotify } from "ra-core";
import { wholeText } from "../graphql/errors";

export function useChange(...entities: readonly string[]): (change: () => Promise<unknown>, message?: string) => Promise<void> {
  const client = useQueryClient();
  const notify = useNotify();
  return async (change, message = "order.saved") => {
    try {
      await change();
      notify(message, { type: "success" });
    } finally {
      await Promise.all(entities.map((entity) => client.invalidateQueries({ queryKey: [entity] })));
    }
  };
}

// The same for a button, which has no dialog that says why it is refused.
export function usePress(...entities: readonly string[]): (change: () => Promise<unknown>, message?: string) => void {
  const run = useChange(...entities);
  const notify = useNotify();
  return (change, message) => void run(change, message).catch((error: unknown) => notify(wholeText(error), { type: "error" }));
}
