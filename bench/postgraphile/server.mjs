// PostGraphile 5 configured for production as in its documentation, on the same tables with the same row-level security: the store is
// part of the connection settings (`pgSettings` per request would cost BEGIN, set_config and COMMIT).
import { createServer } from "node:http";

import { grafserv } from "postgraphile/grafserv/node";
import { postgraphile } from "postgraphile";
import { makePgService } from "postgraphile/adaptors/pg";
import { PostGraphileAmberPreset } from "postgraphile/presets/amber";
import pg from "pg";

const { BENCH_PORT, BENCH_SOCKET, BENCH_PG_PORT, BENCH_DATABASE, BENCH_USER, BENCH_STORE } = process.env;

const pool = new pg.Pool({
  host: BENCH_SOCKET,
  port: Number(BENCH_PG_PORT),
  database: BENCH_DATABASE,
  user: BENCH_USER,
  max: 10,
  min: 8,
  options: `-c role=vitrine_app -c vitrine.tenant=${BENCH_STORE} -c jit=off`,
});
pool.on("error", (error) => console.error(error));

const preset = {
  extends: [PostGraphileAmberPreset],
  // It offers only what an index begins with; ours begin with the store, which row-level security gives.
  disablePlugins: ["PgIndexBehaviorsPlugin"],
  pgServices: [makePgService({ pool, schemas: ["public"] })],
  schema: { defaultBehavior: "+connection +list +filterBy +orderBy" },
  grafserv: { graphqlPath: "/graphql", graphiql: false, watch: false, maxRequestLength: 100_000 },
  grafast: { explain: false },
};

const instance = postgraphile(preset);
const server = createServer();
server.on("error", (error) => {
  console.error(error);
  process.exit(1);
});
const serving = instance.createServ(grafserv);
await serving.addTo(server);
if (process.env.BENCH_PRINT_SCHEMA) {
  const { printSchema } = await import("postgraphile/graphql");
  console.log(printSchema((await instance.getSchema())));
  process.exit(0);
}
server.listen(Number(BENCH_PORT), "127.0.0.1");
process.on("SIGTERM", () => process.exit(0));
