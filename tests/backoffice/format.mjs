// Read amounts and times as they are typed: `node format.mjs`, in the folder of src/format.ts.
import { readFileSync, writeFileSync } from "node:fs";
import ts from "typescript";

const program = ts.transpileModule(readFileSync("src/format.ts", "utf8"), { compilerOptions: { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2022 } }).outputText;
writeFileSync("format.js", `let language = "pt-BR"; const locale = () => language; export const speak = (each) => { language = each; };\n${program.replaceAll(/^import .*;$/gm, "")}`);
const { currencySign, fromLocal, readMoney, setStoreFormat, speak } = await import(`${process.cwd()}/format.js`);

const differs = (what, read, expected) => {
  if (!Object.is(read, expected)) console.log(JSON.stringify({ what, read: String(read), expected: String(expected) }));
};
const both = {
  "1.234,56": 123456, "1,234.56": 123456, "1234.56": 123456, "12,5": 1250, "12,": 1200, ",5": 50, "-3,10": -310, "R$ 1.234,56": 123456, "1.234.567": 123456700,
  "1.234,567": NaN, "1.23.4": NaN, "1.2345": NaN, "12,34,5": NaN, "": NaN, "-": NaN, abc: NaN, "99999999999999999999": NaN,
};
const cases = { "pt-BR": { ...both, "1.234": 123400, "12,345": NaN }, en: { ...both, "1,234": 123400, "12.345": NaN } };
for (const [language, amounts] of Object.entries(cases)) {
  speak(language);
  for (const [text, cents] of Object.entries(amounts)) differs(`${text} in ${language}`, readMoney(text), cents);
}
const times = [
  ["America/Sao_Paulo", "2026-11-30T10:00", "2026-11-30T13:00:00.000Z"],
  ["America/New_York", "2026-03-08T04:00", "2026-03-08T08:00:00.000Z"],
  ["America/New_York", "2026-11-01T00:30", "2026-11-01T04:30:00.000Z"],
  ["Australia/Sydney", "2026-10-04T10:00", "2026-10-03T23:00:00.000Z"],
];
for (const [time_zone, local, time] of times) {
  setStoreFormat({ currency: "USD", time_zone });
  differs(`${local} in ${time_zone}`, fromLocal(local), time);
}
differs("the sign of the store's currency", currencySign(), "$");
differs("the sign of an order's currency", currencySign("BRL"), "R$");
