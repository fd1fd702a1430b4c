// Generate the clients of OpenAPI documents: `node generate.mjs FOLDER NAME...` reads FOLDER/NAME.json.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createClient } from "@hey-api/openapi-ts";
import openapiTS, { astToString } from "openapi-typescript";
import { generate } from "orval";

const [folder, ...names] = process.argv.slice(2);
for (const name of names) {
  const input = join(folder, `${name}.json`);
  const types = await openapiTS(JSON.parse(readFileSync(input, "utf8")));
  writeFileSync(join(folder, `${name}.types.ts`), astToString(types));
  await createClient({ input, output: join(folder, `${name}-client`), logs: { level: "warn", file: false } });
  const target = join(folder, `${name}-orval`);
  const output = { target: join(target, "client.ts"), schemas: join(target, "model"), mode: "split", client: "fetch" };
  await generate({ input: { target: input }, output });
}
