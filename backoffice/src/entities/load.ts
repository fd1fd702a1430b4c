// The descriptions are loaded with the first list or form, not with the first view.
import { use } from "react";
import type { Descriptions, Entity } from "./types";

let loading: Promise<Descriptions> | undefined;

export function loadDescriptions(): Promise<Descriptions> {
  loading ??= import("../entities.json").then((module) => module.default as unknown as Descriptions);
  return loading;
}

export async function loadEntity(name: string): Promise<Entity> {
  const entity = (await loadDescriptions()).entities[name];
  if (!entity) throw new Error(`the schema has no entity ${name}`);
  return entity;
}

// Suspends while they are loaded.
export function useDescriptions(): Descriptions {
  return use(loadDescriptions());
}

export function useEntity(name: string): Entity {
  const entity = useDescriptions().entities[name];
  if (!entity) throw new Error(`the schema has no entity ${name}`);
  return entity;
}
