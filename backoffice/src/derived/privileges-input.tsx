// The privileges of an administrator or a user group: those that the user has, and so may grant, and those that are there already.
import { usePermissions } from "ra-core";
import { SelectArrayInput } from "ra-ui-materialui";
import { useWatch } from "react-hook-form";
import { privilegeName } from "../texts/privileges";

interface Props {
  source: string;
  label: string;
  helperText: string | false;
  fullWidth: boolean;
}

export function PrivilegesInput(common: Props) {
  const { permissions } = usePermissions<string[]>();
  const present = useWatch({ name: common.source }) as string[] | null | undefined;
  const choices = [...new Set([...(permissions ?? []), ...(present ?? [])])].map((id) => ({ id, name: privilegeName(id) }));
  choices.sort((one, other) => one.name.localeCompare(other.name));
  return <SelectArrayInput {...common} choices={choices} translateChoice={false} />;
}
