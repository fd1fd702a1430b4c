// The conditions of a promotion as rows, in groups.
import Box from "@mui/material/Box";
import Button from "@mui/material/Button";
import FormHelperText from "@mui/material/FormHelperText";
import MenuItem from "@mui/material/MenuItem";
import TextField from "@mui/material/TextField";
import { useQuery } from "@tanstack/react-query";
import { useInput, useTranslate } from "ra-core";
import { useFormContext, useWatch } from "react-hook-form";
import { mayRead } from "../../data/permissions";
import { OfficeConditionTypesDocument } from "../../generated";
import { execute } from "../../graphql/client";
import { memberName } from "../../texts";
import { useDescriptions } from "../../entities/load";
import { ChoiceField, MONEY, NumberField, RecordsField, RemoveButton, TextsField, UnitsField, Unread, useUnread } from "./inputs";
import { EMPTY, type Group, MATCH, MATCHES, matchOf, type Member, recordsOf, type Test, type Type, type Value } from "./terms";

const NOTHING: Readonly<Record<string, Value>> = {
  cents: { cents: 0 }, number: { number: 1 }, grams: { grams: 0 }, flag: { flag: true }, texts: { texts: [] }, ids: { ids: [] }, products: { products: [] },
};
const MOST_SETS = 8;

export default function ConditionsInput({ source, label }: { source: string; label: string }) {
  const { field, fieldState } = useInput({ source });
  const zone = String(useWatch({ name: "input.zone", control: useFormContext().control }) ?? "cart");
  const { data } = useQuery({ queryKey: ["promotion_condition_types"], queryFn: () => execute(OfficeConditionTypesDocument), staleTime: Infinity });
  const types = data?.promotion_condition_types ?? [];
  const isUnread = useUnread(source);
  const problem = fieldState.error?.message;
  return (
    <Box component="section" aria-label={label} sx={{ display: "grid", gap: 0.5, gridTemplateColumns: "minmax(0, 1fr)" }}>
      <Box sx={{ fontWeight: 600 }}>{label}</Box>
      {isUnread ? <Unread /> : <GroupRows group={(field.value as Group | "" | null | undefined) || EMPTY} types={types.filter((each) => each.zones.includes(zone as Type["zones"][number]))} depth={1} onChange={(group) => void field.onChange(group)} />}
      {problem && <FormHelperText error>{problem}</FormHelperText>}
    </Box>
  );
}

interface RowsProps {
  group: Group;
  types: readonly Type[];
  depth: number;
  onChange: (group: Group) => void;
  onRemove?: () => void;
}

function GroupRows({ group, types, depth, onChange, onRemove }: RowsProps) {
  const translate = useTranslate();
  const members = group.conditions;
  const set = (conditions: Member[]) => onChange({ ...group, conditions });
  const replace = (index: number, member: Member) => set(members.map((each, place) => (place === index ? member : each)));
  const remove = (index: number) => set(members.filter((_, place) => place !== index));
  const first = types.find((each) => each.kind === "subtotal") ?? types[0];
  const name = translate("promotion.group");
  return (
    <Box role="group" aria-label={name} sx={{ display: "grid", gap: 1.25, gridTemplateColumns: "minmax(0, 1fr)", ...(depth > 1 ? { borderLeft: "3px solid", borderColor: "divider", pl: 1.5 } : {}) }}>
      <Box sx={{ display: "flex", gap: 1, alignItems: "center", maxWidth: 420 }}>
        <ChoiceField label={name} value={matchOf(group)} choices={MATCHES.map((id) => ({ id, name: translate(`promotion.match_${id}`) }))} onChange={(match) => onChange({ ...group, ...MATCH[match] })} />
        {onRemove && <RemoveButton label={name} onClick={onRemove} />}
      </Box>
      {!members.length && <Box sx={{ color: "text.secondary", fontSize: "0.92rem" }}>{translate("promotion.no_conditions")}</Box>}
      {members.map((member, index) =>
        member.group ? (
          <GroupRows key={index} group={member.group} types={types} depth={depth + 1} onChange={(changed) => replace(index, { group: changed })} onRemove={() => remove(index)} />
        ) : (
          member.test && <TestRow key={index} test={member.test} types={types} onChange={(test) => replace(index, { test })} onRemove={() => remove(index)} />
        ),
      )}
      <Box sx={{ display: "flex", flexWrap: "wrap", gap: 1 }}>
        <Button size="small" variant="outlined" disabled={!first} onClick={() => first && set([...members, { test: newTest(first) }])}>{translate("promotion.add_condition")}</Button>
        {depth < MOST_SETS && <Button size="small" onClick={() => set([...members, { group: { ...EMPTY, match: "any" } }])}>{translate("promotion.add_group")}</Button>}
      </Box>
    </Box>
  );
}

function newTest(type: Type): Test {
  return { kind: type.kind, operator: type.operators[0] ?? "eq", value: NOTHING[type.value] ?? { texts: [] }, ...(type.kind === "feature" ? { feature_id: "" } : {}) };
}

function TestRow({ test, types, onChange, onRemove }: { test: Test; types: readonly Type[]; onChange: (test: Test) => void; onRemove: () => void }) {
  const translate = useTranslate();
  const { enums } = useDescriptions();
  const type = types.find((each) => each.kind === test.kind);
  const kind = translate(`promotion.kind_${test.kind}`);
  const operators = (enums.PromotionOperator ?? []).filter(({ id }) => type?.operators.includes(id as Type["operators"][number]) ?? id === test.operator);
  return (
    <Box role="group" aria-label={kind} sx={{ display: "grid", gap: 1, alignItems: "start", gridTemplateColumns: { xs: "minmax(0, 1fr)", md: "minmax(0, 4fr) minmax(0, 3fr) minmax(0, 5fr) auto" } }}>
      <TextField
        select fullWidth size="small" label={translate("promotion.condition")} value={test.kind}
        onChange={(event) => { const next = types.find((each) => each.kind === event.target.value); if (next) onChange(newTest(next)); }}
      >
        {[...new Set([test.kind, ...types.map((each) => each.kind)])].map((each) => <MenuItem key={each} value={each}>{translate(`promotion.kind_${each}`)}</MenuItem>)}
      </TextField>
      <ChoiceField label={translate("promotion.operator")} value={test.operator} choices={operators.map(({ id, name }) => ({ id: id as Test["operator"], name: memberName(name) }))} onChange={(operator) => onChange({ ...test, operator })} />
      <Box sx={{ display: "grid", gap: 1, gridTemplateColumns: "minmax(0, 1fr)" }}>
        {test.kind === "feature" && mayRead("feature_page") && <RecordsField entity="feature" label={translate("promotion.kind_feature")} isSingle value={test.feature_id ? [test.feature_id] : []} onChange={([id = ""]) => onChange({ ...test, feature_id: id })} />}
        <ValueField test={test} label={kind} onChange={(value) => onChange({ ...test, value })} />
      </Box>
      <RemoveButton label={kind} onClick={onRemove} />
    </Box>
  );
}

function ValueField({ test, label, onChange }: { test: Test; label: string; onChange: (value: Value) => void }) {
  const translate = useTranslate();
  const { value } = test;
  if (value.products) return <UnitsField value={value.products} onChange={(products) => onChange({ products })} />;
  if (value.ids) {
    const entity = recordsOf(test.kind);
    return mayRead(`${entity}_page`) ? <RecordsField entity={entity} label={label} value={value.ids} onChange={(ids) => onChange({ ids })} /> : <span>{value.ids.join(", ")}</span>;
  }
  if (value.texts) return <TextsField label={label} value={value.texts} onChange={(texts) => onChange({ texts })} />;
  if (typeof value.flag === "boolean") return <ChoiceField label={label} value={value.flag ? "yes" : "no"} choices={["yes", "no"].map((id) => ({ id, name: translate(`promotion.${id}`) }))} onChange={(flag) => onChange({ flag: flag === "yes" })} />;
  if (typeof value.cents === "number") return <NumberField label={translate("promotion.amount")} value={value.cents} scale={MONEY} onChange={(cents) => onChange({ cents })} />;
  if (typeof value.grams === "number") return <NumberField label={translate("promotion.grams")} value={value.grams} onChange={(grams) => onChange({ grams })} />;
  return <NumberField label={translate("promotion.number")} value={value.number ?? 0} onChange={(number) => onChange({ number })} />;
}
