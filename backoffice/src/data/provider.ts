// The one data provider of all entities: react-admin's calls as operations of /graphql, written from the description of the entity.
import type { DataProvider, GetListParams, RaRecord } from "ra-core";
import { columnsOf, sortOf } from "../entities/columns";
import { loadEntity } from "../entities/load";
import type { Action, Entity, Field, Write } from "../entities/types";
import { send } from "../graphql/client";
import { ServerError } from "../graphql/errors";
import { errorText } from "../texts/errors";
import { attempts } from "./attempts";
import { changedValues, enteredValues, formSelection, formValues, missingFields, selection, typedValues, type Values } from "./values";

type Id = string | number;
interface Page {
  items: RaRecord[];
  total: number;
}
// What a form needs beyond the record: `input` has the values of its fields by the names of the input.
export interface FormRecord extends RaRecord {
  input: Values;
}

const MOST_AT_ONCE = 1000;
const creating = attempts();

async function page(entity: Entity, selected: string, variables: Values, rest = ""): Promise<Page> {
  const parameters = ["$page: Int!", "$per_page: Int!", entity.filter && `$filter: ${entity.filter}`, entity.sort && `$sort: ${entity.sort}`];
  const passed = ["page: $page", "per_page: $per_page", entity.filter && "filter: $filter", entity.sort && "sort: $sort"];
  const query = `query List(${parameters.filter(Boolean).join(", ")}) {
    page: ${entity.name}_page(${passed.filter(Boolean).join(", ")}) { total items { id ${selected} } ${rest} } }`;
  return (await send<{ page: Page }>(query, variables)).data.page;
}

function listVariables(entity: Entity, params: GetListParams): Values {
  const { page: number = 1, perPage = 25 } = params.pagination ?? {};
  const sort = params.sort ? sortOf(entity, params.sort.field) : undefined;
  return {
    page: number,
    per_page: perPage,
    ...(entity.filter ? { filter: filterValues(entity, params.filter as Values) } : {}),
    ...(sort ? { sort: `${sort}_${params.sort?.order ?? "ASC"}` } : {}),
  };
}

// A filter that takes several values takes one of a form too; an empty text is none.
export function filterValues(entity: Entity, values: Values = {}): Values {
  const given = Object.entries(typedValues(entity.filters, values)).filter(([, value]) => value !== "" && value !== null && value !== undefined && !(Array.isArray(value) && !value.length));
  return Object.fromEntries(
    given.flatMap(([name, value]) => {
      const field = entity.filters.find((each) => each.name === name);
      return field ? [[name, field.isList && !Array.isArray(value) ? [value] : value]] : [];
    }),
  );
}

function detailSelection(entity: Entity): string {
  return `id ${selection(entity.fields.filter((field) => !(field.kind === "record" && field.isList)))} ${formSelection(entity)}`;
}

async function read(entity: Entity, id: Id, selected: string): Promise<RaRecord | null> {
  const query = `query One($id: ${entity.idType}) { record: ${entity.name}(id: $id) { ${selected} } }`;
  return (await send<{ record: RaRecord | null }>(query, { id })).data.record;
}

function formRecord(entity: Entity, record: RaRecord): FormRecord {
  return { ...record, input: formValues(entity.update?.fields ?? [], record) };
}

function extraOf(write: Write | undefined, values: Values): { parameters: string; passed: string; values: Values } {
  const given = (write?.extra ?? []).filter((argument) => values[argument.name] !== undefined && values[argument.name] !== null);
  return {
    parameters: given.map((argument) => `, $${argument.name}: ${argument.type}`).join(""),
    passed: given.map((argument) => `, ${argument.name}: $${argument.name}`).join(""),
    values: Object.fromEntries(given.map((argument) => [argument.name, values[argument.name]])),
  };
}

async function change<Data = RaRecord>(query: string, variables: Values, key?: string): Promise<Data> {
  try {
    const { data, errors } = await send<{ record: Data | null }>(query, variables, key);
    if (data.record === null && errors[0]) throw errors[0];
    return data.record as Data;
  } catch (error) {
    throw atFields(error);
  }
}

// The server refuses what lacks a required field without naming that.
function refuseMissing(fields: readonly Field[], values: Values): void {
  const missing = missingFields(fields, values).map((name) => [name, errorText("required", "required")] as const);
  if (missing.length) throw atFields(new ServerError("VALIDATION_FAILED", errorText("VALIDATION_FAILED", "Required fields are empty."), 422, Object.fromEntries(missing)));
}

// react-admin shows the errors of `body.errors` at the inputs of these names: those of forms are below `input`.
function atFields(error: unknown): unknown {
  if (!(error instanceof ServerError) || !Object.keys(error.fields).length) return error;
  return Object.assign(error, { body: { errors: { input: nestedErrors(error.fields) } } });
}

// The errors of fields by the names of the inputs of a form, whose lists and objects are nested.
export function nestedErrors(fields: Readonly<Record<string, string>>): Values {
  const root: Values = {};
  for (const [path, text] of Object.entries(fields)) {
    const names = path.replace(/^input\./, "").replace(/\[(\d+)\]/g, ".$1").split(".");
    let place = root;
    for (const name of names.slice(0, -1)) place = (typeof place[name] === "object" ? place[name] : (place[name] = {})) as Values;
    place[names.at(-1) ?? path] = text;
  }
  return root;
}

// What orders change by themselves is no change of another user.
const COUNTED: readonly string[] = ["stock"];

// Values are compared, not `updated_at`, which is in whole seconds. The error has the record as it is now, for who has to choose.
// Returns the time of its last change, so that the server refuses one that comes in between.
async function refuseChanged(entity: Entity, id: Id, previous: RaRecord | undefined, entered: Values): Promise<string | undefined> {
  const before = previous?.input as Values | undefined;
  const now = before && (await read(entity, id, detailSelection(entity)));
  if (!now) return undefined;
  const current = formRecord(entity, now);
  const mine = changedValues(entered, before);
  const theirs = Object.keys(changedValues(current.input, before)).filter((name) => !COUNTED.includes(name) || name in mine);
  if (theirs.length) throw new ServerError("changed_meanwhile", errorText("changed_meanwhile", "changed meanwhile"), 409, {}, { current });
  return entity.update?.isGuarded ? (now.updated_at as string | undefined) : undefined;
}

async function remove(entity: Entity, id: Id): Promise<RaRecord> {
  return change(`mutation Delete($id: ${entity.idType}) { record: ${entity.name}_delete(id: $id) { id } }`, { id });
}

async function update(entity: Entity, id: Id, values: Values, previous: Values, expected?: string): Promise<RaRecord> {
  const input = changedValues(typedValues(entity.update?.fields ?? [], values), previous);
  const extra = extraOf(entity.update, values);
  if (!Object.keys(input).length) return (await read(entity, id, detailSelection(entity))) ?? { id };
  for (const argument of entity.update?.extra ?? []) delete input[argument.name];
  refuseMissing(entity.update?.fields ?? [], input);
  const guard = expected ? { parameter: ", $expected: DateTime", passed: ", expected_updated_at: $expected" } : { parameter: "", passed: "" };
  const query = `mutation Update($id: ${entity.idType}, $input: ${entity.update?.type ?? ""}!${extra.parameters}${guard.parameter}) {
    record: ${entity.name}_update(id: $id, input: $input${extra.passed}${guard.passed}) { ${detailSelection(entity)} } }`;
  return change(query, { id, input, ...extra.values, ...(expected ? { expected } : {}) });
}

async function getMany(entity: Entity, ids: readonly Id[], selected = ""): Promise<RaRecord[]> {
  return (await page(entity, `${entity.label} ${selected}`, { page: 1, per_page: MOST_AT_ONCE, filter: { id: ids } })).items;
}

// Does an action with a record: the arguments that were entered, the others as the server decides.
export async function act(action: Action, id: Id, entered: Values, key: string): Promise<void> {
  const values = enteredValues(typedValues(action.fields, entered), action.fields);
  refuseMissing(action.fields, values);
  const given = action.fields.filter((field) => field.name in values);
  const parameters = [`$${action.target}: ${action.targetType}`, ...given.map((field) => `$${field.name}: ${field.type}`)];
  const passed = [action.target, ...given.map((field) => field.name)].map((name) => `${name}: $${name}`);
  await change(`mutation Act(${parameters.join(", ")}) { record: ${action.name}(${passed.join(", ")}) { __typename } }`, { ...values, [action.target]: id }, key);
}

const methods = {
  getList: async (resource: string, params: GetListParams) => {
    const entity = await loadEntity(resource);
    const selected = params.meta?.selection as string | undefined;
    const columns = selected ?? (params.meta?.columns ? selection(columnsOf(entity)) : "");
    const { items, total } = await page(entity, `${entity.label} ${columns}`, listVariables(entity, params));
    return { data: items, total };
  },
  getOne: async (resource: string, { id }: { id: Id }) => {
    const entity = await loadEntity(resource);
    const record = await read(entity, id, detailSelection(entity));
    if (!record) throw new ServerError("NOT_FOUND", errorText("NOT_FOUND", "not found"), 404);
    return { data: formRecord(entity, record) };
  },
  getMany: async (resource: string, { ids, meta }: { ids: Id[]; meta?: { selection?: string } }) => ({ data: await getMany(await loadEntity(resource), ids, meta?.selection) }),
  create: async (resource: string, { data }: { data: Values }) => {
    const entity = await loadEntity(resource);
    const fields = entity.create?.fields ?? [];
    const input = enteredValues(typedValues(fields, (data.input ?? {}) as Values), fields);
    refuseMissing([...fields, ...(entity.create?.extra ?? [])], input);
    const extra = extraOf(entity.create, input);
    for (const argument of entity.create?.extra ?? []) delete input[argument.name];
    const query = `mutation Create($input: ${entity.create?.type ?? ""}!${extra.parameters}) {
      record: ${resource}_create(input: $input${extra.passed}) { ${detailSelection(entity)} } }`;
    const variables = { input, ...extra.values };
    return { data: formRecord(entity, await creating([resource, variables], (key) => change(query, variables, key))) };
  },
  update: async (resource: string, { id, data, previousData, meta }: { id: Id; data: Values; previousData?: RaRecord; meta?: { overwrite?: boolean } }) => {
    const entity = await loadEntity(resource);
    const entered = (data.input ?? {}) as Values;
    const expected = meta?.overwrite ? undefined : await refuseChanged(entity, id, previousData, typedValues(entity.update?.fields ?? [], entered));
    return { data: formRecord(entity, await update(entity, id, entered, (previousData?.input ?? {}) as Values, expected)) };
  },
  delete: async (resource: string, { id }: { id: Id }) => ({ data: await remove(await loadEntity(resource), id) }),
};

// Its methods are generic in the type of the record, which is known at run time only.
export const dataProvider = methods as unknown as DataProvider;
