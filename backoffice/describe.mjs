// Describe the entities of a schema for lists and forms: `node describe.mjs SDL JSON`.
//
// An entity is what has a query `x_page`. Of each: what can be read, the filters and sorts of its list, and the fields that its mutations
// take, each with the path from which a form reads its present value. Types other than entities are described inline, where they occur.
import { readFileSync, writeFileSync } from "node:fs";
import {
  buildSchema, getNamedType, isEnumType, isInputObjectType, isAbstractType, isListType, isNonNullType, isObjectType,
} from "graphql";

const [sdl, target] = process.argv.slice(2);
const schema = buildSchema(readFileSync(sdl, "utf8"));
const queries = schema.getQueryType().getFields();
const mutations = schema.getMutationType().getFields();
const names = Object.keys(queries).flatMap((name) => (name.endsWith("_page") && name !== "_page" ? [name.slice(0, -5)] : []));
// What else has mutations of its own, such as the addresses of users.
const stems = Object.keys(mutations).flatMap((name) => (name.endsWith("_create") ? [name.slice(0, -7)] : []));
const typeOf = (name) => getNamedType(queries[name].type);
const entityOf = new Map(names.map((name) => [typeOf(name).name, name]));

const LABELS = ["name", "number", "title", "code", "area_name", "description", "usergroup_name", "file_name", "email", "event", "action"];
const KINDS = {
  ID: "id", String: "text", Int: "integer", BigInt: "integer", Float: "number", Boolean: "boolean", DateTime: "time", Upload: "file",
  OrderStatus: "status", ShipmentStatus: "status",
};
// Refuses an update of a record that was changed since: no input of a form.
const GUARD = "expected_updated_at";
// Inputs of promotions, which have editors of their own, and what these read: conditions as deep as they may be. Files have the JSON.
const UNITS = "products { product_id quantity }";
const conditions = (sets) => `match holds conditions { kind operator cents number grams flag texts ids ${UNITS} feature_id ${sets > 1 ? conditions(sets - 1) : ""} }`;
const targets = ["category", "collection", "page", "product", "vendor"].map((each) => `${each} { id }`).join(" ");
const items = (levels) => `name link ${targets} ${levels > 1 ? `items { ${items(levels - 1)} }` : ""}`;
const EDITORS = {
  MenuItemInput: { kind: "menu_items", selection: items(4) },
  PromotionConditionGroupInput: { kind: "conditions", selection: conditions(8), json: "conditions" },
  PromotionBonusInput: { kind: "bonuses", json: "bonuses", selection: `kind discount { mode value } product_ids category_ids shipping_method_ids ${UNITS} points promotion_id` },
};
const enums = {};

function labelOf(type) {
  const fields = type.getFields();
  return LABELS.find((name) => name in fields) ?? "id";
}

function unwrap(type) {
  const inner = isNonNullType(type) ? type.ofType : type;
  return { isRequired: isNonNullType(type), isList: isListType(inner), named: getNamedType(type) };
}

function described(name, field) {
  const { isRequired, isList, named } = unwrap(field.type);
  const scale = /hundredths/.test(field.description) ? 100 : /thousandths/.test(field.description) ? 1000 : undefined;
  const base = { name, help: field.description?.replaceAll(/\s+/g, " "), scale, isRequired: (isRequired && field.defaultValue === undefined) || undefined, isList: isList || undefined };
  if (isEnumType(named)) {
    enums[named.name] ??= named.getValues().map((value) => ({ id: value.name, name: (value.description ?? value.name).replace(/\.$/, "") }));
    return { ...base, kind: "enum", enum: named.name };
  }
  if (KINDS[named.name] === "status") return { ...base, kind: "status", status: named.name === "OrderStatus" ? "O" : "S" };
  return { ...base, kind: KINDS[named.name] ?? "json" };
}

// What is shown: columns and members of objects; of related records only their label. Connections have lists of their own.
function readable(type, depth = 0) {
  return Object.entries(type.getFields()).flatMap(([name, field]) => {
    const { named } = unwrap(field.type);
    if (field.args.some((argument) => isNonNullType(argument.type) && argument.defaultValue === undefined)) return [];
    if (isAbstractType(named) || (field.deprecationReason && named.name === "JSON")) return [];
    if (!isObjectType(named)) return [{ ...described(name, field), of: depth ? undefined : type.name, isHtml: /\bHTML\b/.test(field.description ?? "") || undefined }];
    if (named.name.endsWith("Connection")) return [];
    const base = { ...described(name, field), of: depth ? undefined : type.name };
    const entity = entityOf.get(named.name);
    if (entity) return [{ ...base, kind: "record", entity, label: labelOf(named) }];
    if (depth === 2) return [];
    return [{ ...base, kind: "object", members: readable(named, depth + 1) }];
  });
}

const plurals = (name) => [`${name}s`, `${name}es`, name.replace(/y$/, "ies")];

// The path below a record from which the value of an input's field is read; undefined for what can't be read, such as a password.
function source(name, record) {
  const fields = record?.getFields() ?? {};
  if (name in fields) return name;
  const [, stem, suffix] = /^(.*)_(ids?)$/.exec(name) ?? [];
  const found = suffix === "id" ? [stem] : suffix === "ids" ? plurals(stem) : [];
  const related = found.find((each) => each in fields && isObjectType(getNamedType(fields[each].type)));
  return related && "id" in getNamedType(fields[related].type).getFields() ? `${related}.id` : undefined;
}

// The entity that an ID refers to, by the related record of the type or else by its name.
function referenced(name, record, entity) {
  const [, stem, suffix] = /^(.*?)_?(ids?)$/.exec(name) ?? [];
  if (!suffix) return undefined;
  if (stem === "") return entity;
  const fields = record?.getFields() ?? {};
  const related = [stem, ...plurals(stem)].map((each) => fields[each] && entityOf.get(getNamedType(fields[each].type).name)).find(Boolean);
  const renamed = { customer: "user", media: "media_file", below_category: "category", shipping: "shipping_method" }[stem];
  return related ?? renamed ?? (names.includes(stem) ? stem : undefined);
}

function writable(input, record, entity, depth = 0) {
  return Object.entries(input.getFields()).flatMap(([name, field]) => {
    const { named } = unwrap(field.type);
    const from = source(name, record);
    // What is shown as plain text too is HTML.
    const base = { ...described(name, field), from, isHtml: `${name}_text` in (record?.getFields() ?? {}) || undefined };
    if (EDITORS[named.name]) return [{ ...base, ...EDITORS[named.name] }];
    if (base.kind === "json" && field.deprecationReason) return [];
    if (!isInputObjectType(named)) {
      // Read as an object and written as JSON: a form can't send back what it shows.
      if (from && !from.includes(".") && isObjectType(getNamedType(record.getFields()[from].type))) return [{ ...base, from: undefined, isUnread: true }];
      const target = base.kind === "id" ? referenced(name, record, entity) : undefined;
      return [target ? { ...base, kind: "record", entity: target, label: labelOf(typeOf(target)) } : base];
    }
    // As deep as one likes, without an editor of its own: written as JSON, and only in a new record.
    if (named === input) return [{ ...base, from: undefined, isUnread: true }];
    if (depth === 2) return [];
    const nested = from && record ? getNamedType(record.getFields()[from]?.type ?? record) : undefined;
    return [{ ...base, kind: "object", members: writable(named, isObjectType(nested) ? nested : undefined, undefined, depth + 1) }];
  });
}

function mutation(name, record, entity) {
  const field = mutations[name];
  const input = field?.args.find((argument) => argument.name === "input");
  const isUpdate = name.endsWith("_update");
  // Mutations of another form have pages of their own, if any.
  if (!input || getNamedType(field.type) !== record || field.args.some((argument) => argument.name === "id") !== isUpdate) return undefined;
  const extra = field.args.filter((argument) => !["id", "input", GUARD].includes(argument.name));
  return {
    isGuarded: field.args.some((argument) => argument.name === GUARD) || undefined,
    type: getNamedType(input.type).name,
    fields: writable(getNamedType(input.type), record, entity).filter((each) => !isUpdate || !each.members?.some((member) => member.isUnread)),
    extra: extra.map((each) => argument(each, record, entity)),
  };
}

// An argument of a mutation, with the value that it has by default.
function argument(argument, record, entity) {
  const [described] = writable({ getFields: () => ({ [argument.name]: argument }) }, record, entity);
  return { ...described, type: String(argument.type), default: argument.defaultValue ?? undefined };
}

// What mutations do with one record besides changing its fields: `order_set_status(id, …)`, `payment_refund(payment_id, …)`.
function actions(name, record) {
  return Object.entries(mutations).flatMap(([mutation, field]) => {
    const entity = [...names, ...stems].filter((each) => mutation.startsWith(`${each}_`)).toSorted((one, other) => other.length - one.length)[0];
    if (entity !== name || /_(create|update|delete)$/.test(mutation)) return [];
    const target = field.args.find((each) => ["id", `${name}_id`].includes(each.name) && isNonNullType(each.type));
    if (!target) return [];
    const others = field.args.filter((each) => each !== target && each.name !== "token");
    return [{ name: mutation, help: field.description?.replace(/ Available to .*/s, ""), target: target.name, targetType: String(target.type), fields: others.map((each) => argument(each, record, name)) }];
  });
}

function entity(name) {
  const type = typeOf(name);
  const page = queries[`${name}_page`];
  const argument = (each) => page.args.find((candidate) => candidate.name === each);
  const filter = argument("filter") && getNamedType(argument("filter").type);
  const sort = argument("sort") && getNamedType(argument("sort").type);
  return {
    name,
    type: type.name,
    label: labelOf(type),
    help: type.description?.replace(/ Readable by .*/s, ""),
    idType: String(queries[name].args.find((each) => each.name === "id")?.type ?? "ID!").replace(/!?$/, "!"),
    fields: readable(type),
    filter: filter?.name,
    filters: filter ? writable(filter, type, name).map(({ from: _, ...field }) => field) : [],
    sort: sort?.name,
    sorts: sort ? [...new Set(sort.getValues().map((value) => value.name.replace(/_(ASC|DESC)$/, "")))] : [],
    create: mutation(`${name}_create`, type, name),
    update: mutation(`${name}_update`, type, name),
    actions: actions(name, type),
  };
}

const content = JSON.stringify({ entities: Object.fromEntries(names.map((name) => [name, entity(name)])), enums });
writeFileSync(target, content);
