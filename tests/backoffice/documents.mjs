// Validate the documents that the data provider writes for every entity of src/entities.json: `node documents.mjs SDL`.
import { readFileSync } from "node:fs";
import { buildSchema, parse, validate } from "graphql";

const schema = buildSchema(readFileSync(process.argv[2], "utf8"));
const { entities } = JSON.parse(readFileSync("src/entities.json", "utf8"));

const shown = (fields) => fields.map((field) => `${field.name} ${field.kind === "record" ? `{ id ${field.label} }` : field.kind === "object" ? `{ ${shown(field.members)} }` : ""}`).join(" ");
const read = (fields) => fields.filter((field) => field.from).map((field) => {
  const [name, id] = field.from.split(".");
  return id ? `${name} { ${id} }` : field.selection ? `${name} { ${field.selection} }` : field.kind === "object" ? `${name} { ${read(field.members)} }` : name;
}).join(" ");

function documents(entity) {
  const detail = `id ${shown(entity.fields.filter((field) => !(field.kind === "record" && field.isList)))} ${read(entity.update?.fields ?? [])}`;
  const mutation = (verb, write, id) => {
    const extra = (text) => write.extra.map(text).join("");
    return `mutation Change($input: ${write.type}!${id ? `, $id: ${entity.idType}` : ""}${extra((each) => `, $${each.name}: ${each.type}`)}) {
      record: ${entity.name}_${verb}(input: $input${id ? ", id: $id" : ""}${extra((each) => `, ${each.name}: $${each.name}`)}) { ${detail} } }`;
  };
  return [
    `query One($id: ${entity.idType}) { record: ${entity.name}(id: $id) { ${detail} } }`,
    `query List { page: ${entity.name}_page(page: 1, per_page: 25) { total items { id ${shown(entity.fields)} } } }`,
    ...(entity.create ? [mutation("create", entity.create, false)] : []),
    ...(entity.update ? [mutation("update", entity.update, true)] : []),
    ...entity.actions.map((action) => {
      const given = [{ name: action.target, type: action.targetType }, ...action.fields];
      const [declared, passed] = [given.map(({ name, type }) => `$${name}: ${type}`), given.map(({ name }) => `${name}: $${name}`)];
      return `mutation Act(${declared.join(", ")}) { record: ${action.name}(${passed.join(", ")}) { __typename } }`;
    }),
  ];
}

for (const entity of Object.values(entities)) {
  for (const document of documents(entity)) {
    for (const error of validate(schema, parse(document))) console.log(`${entity.name}: ${error.message}`);
  }
}
console.log(`${Object.keys(entities).length} entities`);
