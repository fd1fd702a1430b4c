// Records by their names, where a form has their IDs.
import { type RaRecord, useGetMany } from "ra-core";
import { mayRead } from "../data/permissions";
import { useEntity } from "../entities/load";

export function Names({ entity: name, ids }: { entity: string; ids: readonly string[] }) {
  const { label } = useEntity(name);
  const isShown = ids.length > 0 && mayRead(`${name}_page`);
  const { data = [], isLoading } = useGetMany<RaRecord>(name, { ids: [...ids] }, { enabled: isShown });
  const nameOf = (id: string) => String(data.find((record) => record?.id === id)?.[label] ?? (isLoading ? "…" : id));
  return <>{ids.map(nameOf).join(", ")}</>;
}
