// GraphQL Code Generator: `node codegen.mjs CONFIG` writes the types of the schema and the operations, `types.ts`.
import { readFileSync, writeFileSync } from "node:fs";
import { codegen } from "@graphql-codegen/core";
import * as typescript from "@graphql-codegen/typescript";
import * as operations from "@graphql-codegen/typescript-operations";
import { parse } from "graphql";

const read = (location) => ({ location, document: parse(readFileSync(location, "utf8")) });
const filename = "types.ts";
const text = await codegen({
  filename,
  schema: read("public.graphql").document,
  documents: [read("operations.graphql")],
  config: JSON.parse(process.argv[2]),
  plugins: [{ typescript: {} }, { operations: {} }],
  pluginMap: { typescript, operations },
});
writeFileSync(filename, text);
