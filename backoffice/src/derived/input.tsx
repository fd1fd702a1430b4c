// The input of a field, by its kind.
import { useRecordContext, useTranslate } from "ra-core";
import { lazy } from "react";
import {
  ArrayInput, AutocompleteArrayInput, AutocompleteInput, BooleanInput, NullableBooleanInput, PasswordInput, ReferenceArrayInput,
  ReferenceInput, SelectArrayInput, SelectInput, SimpleFormIterator, TextArrayInput, TextInput,
} from "ra-ui-materialui";
import { isRefused, mayRead } from "../data/permissions";
import { useDescriptions } from "../entities/load";
import type { Field } from "../entities/types";
import { currencySign, fromLocal, LAST_DAY, readMoney, toLocal, writeMoney } from "../format";
import { entityName, fieldName, locale, memberName } from "../texts";
import { JsonInput } from "./json-input";
import { Members } from "./members";
import { NumericInput } from "./number-input";
import { OptionInputs } from "./option-inputs";
import { PicturesInput } from "./pictures-input";
import { PrivilegesInput } from "./privileges-input";
import { useStatuses } from "./statuses";

const ConditionsInput = lazy(() => import("../pages/promotions/conditions"));
const HtmlInput = lazy(() => import("./html-input"));
const BonusesInput = lazy(() => import("../pages/promotions/bonuses"));
const MenuItemsInput = lazy(() => import("../pages/menus/items"));

interface Props {
  field: Field;
  source: string;
  isFilter?: boolean;
  // What react-admin calls a filter in the menu of them.
  label?: string;
  // react-admin shows such a filter always.
  alwaysOn?: boolean;
}

const LONG = /^(description|short_description|full_description|notes|details|message|comments|instructions|meta_description|link|reason|note|value|address|query)$/;

export function isLong(field: Field): boolean {
  return field.kind === "text" && !field.isList && LONG.test(field.name);
}

function useCommon({ field, source, isFilter }: Props) {
  const help = locale() === "en" && !isFilter && field.help && !field.scale ? field.help : false;
  return { source, label: fieldName(field.name), helperText: help as string | false, fullWidth: true };
}

export function FieldInput(props: Props) {
  const { field } = props;
  if (field.of && isRefused(field.of, field.name)) return null;
  switch (field.kind) {
    case "boolean":
      return <Flag {...props} />;
    case "integer":
    case "number":
      return field.isList ? <JsonInput {...useCommon(props)} /> : isMoney(field) ? <Money {...props} /> : <NumericInput {...useCommon(props)} isDecimal={field.kind === "number"} {...(field.scale ? { scale: field.scale } : {})} />;
    case "time":
      return <Time {...props} />;
    case "enum":
      return <Choices {...props} />;
    case "status":
      return <Statuses {...props} />;
    case "record":
      return mayRead(`${field.entity}_page`) && <Reference {...props} />;
    case "object":
      return <Objects {...props} />;
    case "json":
      if (field.name === "options") return <OptionInputs source={props.source} />;
      return <JsonInput {...useCommon(props)} />;
    case "conditions":
      return <ConditionsInput source={props.source} label={fieldName(field.name)} />;
    case "bonuses":
      return <BonusesInput source={props.source} label={fieldName(field.name)} />;
    case "menu_items":
      return <MenuItemsInput source={props.source} label={fieldName(field.name)} />;
    case "file":
      return null;
    default:
      return <Text {...props} />;
  }
}

function isMoney(field: Field): boolean {
  return field.name.endsWith("_cents") || /^(price|total)_(from|to)$/.test(field.name);
}

function Text(props: Props) {
  const translate = useTranslate();
  const common = useCommon(props);
  const { field, isFilter } = props;
  if (field.name === "privileges") return <PrivilegesInput {...common} />;
  if (field.isList) return <TextArrayInput {...common} clearText={translate("ra.action.clear_input_value")} />;
  if (field.isHtml && !isFilter) return <HtmlInput {...common} />;
  if (field.name === "password") return <PasswordInput {...common} />;
  if (field.name === "color") return <TextInput {...common} type="color" sx={{ maxWidth: 120 }} />;
  const isMultiline = isLong(field) && !isFilter;
  return <TextInput {...common} multiline={isMultiline} {...(isMultiline ? { minRows: 2, maxRows: 14 } : {})} resettable={isFilter ?? false} />;
}

function Flag(props: Props) {
  const { fullWidth: _, ...common } = useCommon(props);
  return props.isFilter ? <NullableBooleanInput {...common} /> : <BooleanInput {...common} />;
}

function Money(props: Props) {
  const translate = useTranslate();
  const record = useRecordContext();
  const sign = typeof record?.currency === "string" ? currencySign(record.currency) : currencySign();
  return (
    <TextInput
      {...useCommon(props)}
      format={(value: unknown) => (typeof value === "number" ? writeMoney(value) : String(value ?? ""))}
      parse={(text: string) => (text.trim() === "" ? null : text)}
      {...moneyOnBlur(translate("form.money_invalid"))}
      slotProps={{ input: { startAdornment: <span style={{ paddingRight: 8 }}>{sign}</span> }, htmlInput: { inputMode: "decimal" } }}
    />
  );
}

// What is typed stays as it is typed; it is an amount once the form is sent (`amounts`), or the list asks.
function moneyOnBlur(message: string) {
  return { validate: (value: unknown) => (typeof value === "string" && value !== "" && Number.isNaN(readMoney(value)) ? message : undefined) };
}

function Time(props: Props) {
  return (
    <TextInput
      {...useCommon(props)}
      type="datetime-local"
      format={(value: unknown) => (typeof value === "string" && value ? toLocal(value) : "")}
      parse={(text: string) => (text ? fromLocal(text) : null)}
      slotProps={{ inputLabel: { shrink: true }, htmlInput: { max: `${LAST_DAY}T23:59` } }}
    />
  );
}

function Choices(props: Props) {
  const members = useDescriptions().enums[props.field.enum ?? ""] ?? [];
  const choices = members.map(({ id, name }) => ({ id, name: memberName(name) }));
  const common = { ...useCommon(props), choices, translateChoice: false };
  return props.field.isList ? <SelectArrayInput {...common} /> : <SelectInput {...common} />;
}

function Statuses(props: Props) {
  const statuses = useStatuses(props.field.status ?? "O");
  const choices = statuses.map(({ letter, description }) => ({ id: letter, name: description }));
  const common = { ...useCommon(props), choices, translateChoice: false };
  return props.field.isList ? <SelectArrayInput {...common} /> : <SelectInput {...common} />;
}

function Reference(props: Props) {
  const { field } = props;
  const { source, ...common } = useCommon(props);
  const entity = field.entity ?? "";
  const filters = useDescriptions().entities[entity]?.filters ?? [];
  const canSearch = filters.some((each) => each.name === "search");
  const input = {
    ...common,
    optionText: field.label ?? "id",
    filterToQuery: (text: string) => (canSearch && text ? { search: text } : {}),
  };
  const reference = { source, reference: entity, perPage: canSearch ? 25 : 500, sort: { field: "name", order: "ASC" as const } };
  if (field.isList) return <ReferenceArrayInput {...reference}><AutocompleteArrayInput {...input} /></ReferenceArrayInput>;
  return <ReferenceInput {...reference}><AutocompleteInput {...input} label={common.label || entityName(entity, 1)} /></ReferenceInput>;
}

function Objects(props: Props) {
  const { field, source } = props;
  const translate = useTranslate();
  // The ID of a part goes with its values.
  const members = (field.members ?? []).filter(({ name }) => name !== "id");
  if (members.some((member) => member.name === "media_id") && members.some((member) => member.name === "alt")) return <PicturesInput {...useCommon(props)} isList={field.isList ?? false} />;
  if (!field.isList) return <Members label={fieldName(field.name)}>{members.map((member) => <FieldInput key={member.name} field={member} source={`${source}.${member.name}`} />)}</Members>;
  return (
    <ArrayInput source={source} label={fieldName(field.name)} helperText={false}>
      <SimpleFormIterator fullWidth addButton={undefined} aria-label={translate("form.add")}>
        {members.map((member) => <FieldInput key={member.name} field={member} source={member.name} />)}
      </SimpleFormIterator>
    </ArrayInput>
  );
}
