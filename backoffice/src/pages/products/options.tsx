// The options of a product, and new ones with their values.
import Alert from "@mui/material/Alert";
import Box from "@mui/material/Box";
import Button from "@mui/material/Button";
import Chip from "@mui/material/Chip";
import Link from "@mui/material/Link";
import { useQuery } from "@tanstack/react-query";
import { useTranslate } from "ra-core";
import { TextInput } from "ra-ui-materialui";
import { useState } from "react";
import { Link as RouterLink } from "react-router-dom";
import { isRefused, mayAct, mayDo } from "../../data/permissions";
import type { Values } from "../../data/values";
import { FormDialog } from "../../derived/form-dialog";
import { useReread } from "../../derived/unsaved";
import { OfficeOptionCreateDocument, OfficeProductOptionsDocument, type OfficeProductOptionsQuery } from "../../generated";
import { execute } from "../../graphql/client";
import { Nothing, Section } from "../orders/parts";
import { Combinations } from "./combinations";

export type Offer = NonNullable<OfficeProductOptionsQuery["product"]>;

export function Options({ id }: { id: string }) {
  const translate = useTranslate();
  const [isNew, setNew] = useState(false);
  const { data: product, error } = useQuery({ queryKey: ["product", "options", id], queryFn: async () => (await execute(OfficeProductOptionsDocument, { id })).product as Offer | null });
  if (error) return <Alert severity="error">{error.message}</Alert>;
  if (!product) return null;
  const create = mayDo("option_create") && <Button variant="outlined" size="small" onClick={() => setNew(true)}>{translate("product.new_option")}</Button>;
  return (
    <>
      <Section title={translate("product.options")} actions={create}>
        {!product.options.length && <Nothing text="product.no_options" />}
        {product.options.map((option) => <OptionRow key={option.id} option={option} />)}
        {isNew && <NewOption product={id} onClose={() => setNew(false)} />}
      </Section>
      {!isRefused("Product", "combinations") && product.options.length > 0 && <Combinations product={product} />}
    </>
  );
}

function OptionRow({ option: { id, name, variants } }: { option: Offer["options"][number] }) {
  return (
    <Box sx={{ display: "flex", flexWrap: "wrap", gap: 1, alignItems: "center" }}>
      {mayAct("edit", "option") ? <Link component={RouterLink} to={`/option/${id}`} sx={{ fontWeight: 600 }}>{name}</Link> : <strong>{name}</strong>}
      {variants.map((variant) => <Chip key={variant.id} size="small" variant="outlined" label={variant.name} />)}
    </Box>
  );
}

function NewOption({ product, onClose }: { product: string; onClose: () => void }) {
  const translate = useTranslate();
  const reread = useReread();
  const submit = async ({ name, variants }: Values, key: string) => {
    const values = [...new Set(String(variants ?? "").split(",").map((each) => each.trim()).filter(Boolean))];
    await execute(OfficeOptionCreateDocument, { input: { product_id: product, name: String(name ?? ""), variants: values.map((each) => ({ name: each })) } }, key);
    reread();
  };
  const required = (value: unknown) => (value ? undefined : "ra.validation.required");
  return (
    <FormDialog title={translate("product.new_option")} button={translate("ra.action.save")} values={{ name: "", variants: "" }} onSubmit={submit} onClose={onClose}>
      <TextInput source="input.name" label="product.option_name" helperText={false} validate={required} fullWidth />
      <TextInput source="input.variants" label="product.option_values" helperText="product.values_help" validate={required} fullWidth />
    </FormDialog>
  );
}
