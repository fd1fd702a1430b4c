// Runs a change, says that it was made, and reads everything again that is shown of these entities.
import { useQueryClient } from "@tanstack/react-query";
import { useNotify } from "ra-core";

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
