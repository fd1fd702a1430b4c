// The choices of a product's options in a line of an order: the ID of a variant, or a text, by the ID of each option.
import { useQuery } from "@tanstack/react-query";
import { useWrappedSource } from "ra-core";
import { SelectInput, TextInput } from "ra-ui-materialui";
import { useEffect, useRef } from "react";
import { useFormContext, useWatch } from "react-hook-form";
import { OfficeProductOptionsDocument } from "../generated";
import { execute } from "../graphql/client";

export function OptionInputs({ source }: { source: string }) {
  const path = useWrappedSource(source);
  const product = useWatch({ name: path.replace(/options$/, "product_id") }) as string | null | undefined;
  const { setValue } = useFormContext();
  const chosenFor = useRef(product);
  useEffect(() => {
    if (chosenFor.current !== product) setValue(path, undefined);
    chosenFor.current = product;
  }, [path, product, setValue]);
  const { data } = useQuery({
    queryKey: ["product", "options", product],
    queryFn: () => execute(OfficeProductOptionsDocument, { id: product ?? "" }),
    enabled: Boolean(product),
  });
  const options = (product && data?.product?.options) || [];
  return options.filter(({ status, type }) => status === "A" && type !== "F").map(({ id, name, variants }) => {
    const common = { source: `${source}.${id}`, label: name, helperText: false as const, fullWidth: true, parse: (value: unknown) => value || undefined };
    return variants.length ? <SelectInput key={`${product} ${id}`} {...common} choices={variants} translateChoice={false} /> : <TextInput key={`${product} ${id}`} {...common} />;
  });
}
