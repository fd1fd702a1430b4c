// The description of an entity, as describe.mjs writes it from the schema.
export type Kind = "id" | "text" | "integer" | "number" | "boolean" | "time" | "enum" | "status" | "json" | "file" | "record" | "object" | "conditions" | "bonuses" | "menu_items";

export interface Field {
  name: string;
  kind: Kind;
  help?: string;
  isRequired?: boolean;
  isList?: boolean;
  isHtml?: boolean;
  // How many of the schema's units are one of what a person reads and writes, such as a percent.
  scale?: number;
  // The type of the schema that has it, for the rules of access.
  of?: string;
  enum?: string;
  // The type of the statuses of orders (O) or shipments (S).
  status?: "O" | "S";
  entity?: string;
  label?: string;
  members?: readonly Field[];
  // What an editor of its own reads, and the field that has the same as JSON.
  selection?: string;
  json?: string;
  // The path below the record from which a form reads the value.
  from?: string;
}

export interface Argument extends Field {
  type: string;
  default?: unknown;
}

// What a mutation does with one record besides changing its fields; `target` is the argument that names the record.
export interface Action {
  name: string;
  help?: string;
  target: string;
  targetType: string;
  fields: readonly Argument[];
}

export interface Write {
  // Takes `expected_updated_at`.
  isGuarded?: boolean;
  type: string;
  fields: readonly Field[];
  extra: readonly Argument[];
}

export interface Entity {
  name: string;
  type: string;
  label: string;
  help?: string;
  idType: string;
  fields: readonly Field[];
  filter?: string;
  filters: readonly Field[];
  sort?: string;
  sorts: readonly string[];
  create?: Write;
  update?: Write;
  actions: readonly Action[];
}

export interface Choice {
  id: string;
  name: string;
}

export interface Descriptions {
  entities: Readonly<Record<string, Entity>>;
  enums: Readonly<Record<string, readonly Choice[]>>;
}
