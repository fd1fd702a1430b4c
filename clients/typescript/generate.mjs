// Generate src/generated from the OpenAPI documents and the GraphQL schema: `node generate.mjs REPOSITORY`.
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { codegen } from "@graphql-codegen/core";
import * as typescript from "@graphql-codegen/typescript";
import { buildSchema, parse } from "graphql";
import openapiTS, { astToString } from "openapi-typescript";

const repository = process.argv[2];
const target = join("src", "generated");
mkdirSync(target, { recursive: true });
const write = (name, text) => writeFileSync(join(target, name), text);

const keyed = [];
const pageSizes = {};
for (const family of ["current", "apps", "legacy"]) {
  const document = JSON.parse(readFileSync(join(repository, "docs", "openapi", `${family}.json`), "utf8"));
  // By default a member of a body that has a default value would be required.
  write(`${family}.ts`, astToString(await openapiTS(document, { defaultNonNullable: false })));
  for (const [path, methods] of Object.entries(document.paths)) {
    const names = (method) => (methods[method]?.parameters ?? []).map(({ name, $ref }) => name ?? $ref.split("/").pop());
    if (names("post").includes("IdempotencyKey")) keyed.push(path);
    const size = names("get").find((name) => ["per_page", "limit", "items_per_page"].includes(name));
    if (size && names("get").includes("page")) pageSizes[path] = size;
  }
}

const sdl = readFileSync(join(repository, "schema", "public.graphql"), "utf8");
const mutations = Object.values(buildSchema(sdl).getMutationType().getFields());
const unkeyed = mutations.filter(({ description }) => description.includes("Ignores the Idempotency-Key.")).map(({ name }) => name);
write(
  "requests.ts",
  `/** Routes whose POST takes an Idempotency-Key. */
export const KEYED_ROUTES: ReadonlySet<string> = new Set(${JSON.stringify(keyed)});
/** Mutations that return a secret and ignore the Idempotency-Key. */
export const UNKEYED_MUTATIONS: ReadonlySet<string> = new Set(${JSON.stringify(unkeyed)});
/** Lists in pages, with the parameter of the page size. */
export const PAGE_SIZES: Readonly<Record<string, string>> = ${JSON.stringify(pageSizes)};
`,
);

const scalars = {
  BigInt: "number",
  DateTime: "string",
  JSON: "unknown",
  OrderStatus: "string",
  ProcessorParams: "Record<string, unknown>",
  RateParams: "Record<string, unknown>",
  ShipmentStatus: "string",
  Upload: "Blob",
};
const filename = "schema.ts";
const config = { strictScalars: true, scalars, enumsAsTypes: true };
const options = { filename, schema: parse(sdl), documents: [], config };
write(filename, await codegen({ ...options, plugins: [{ typescript: {} }], pluginMap: { typescript } }));
copyFileSync(join(repository, "schema", "public.graphql"), "schema.graphql");
