// Write values as cells and read them again: `node cells.mjs`, in the folder of src/bulk/cells.ts.
import { readFileSync, writeFileSync } from "node:fs";
import ts from "typescript";

const program = ts.transpileModule(readFileSync("src/bulk/cells.ts", "utf8"), { compilerOptions: { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2022 } }).outputText;
const stubs = 'const [locale, memberName, readMoney] = [() => "en", String, Number];';
writeFileSync("cells.js", `${stubs}\n${program.replaceAll(/^import .*;$/gm, "")}`);
const { fromCell, toCell } = await import(`${process.cwd()}/cells.js`);

const list = { name: "tags", kind: "text", isList: true };
const text = { name: "name", kind: "text", isList: false };
const cases = [
  [list, ["a|b", "c"]],
  [list, ["a\\", "b", "\\|", "c\\d", "'=e", "=f|"]],
  [text, "=1+1"],
  [text, "'=1+1"],
  [text, "''-a"],
  [text, "'a"],
  [text, "a|b\\c"],
];
for (const [field, value] of cases) {
  const cell = toCell(field, value);
  const read = fromCell(field, cell);
  if (JSON.stringify(read) !== JSON.stringify(value)) console.log(JSON.stringify({ value, cell, read }));
}
for (const [cell, value] of [["a|b", ["a", "b"]], ["C:\\x|b|", ["C:\\x", "b"]]]) {
  const read = fromCell(list, cell);
  if (JSON.stringify(read) !== JSON.stringify(value)) console.log(JSON.stringify({ cell, read }));
}
