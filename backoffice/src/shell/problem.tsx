import Alert from "@mui/material/Alert";
import { useTranslate } from "ra-core";
import type { FallbackProps } from "react-error-boundary";

export function Problem({ error }: FallbackProps) {
  const translate = useTranslate();
  return <Alert severity="error">{error instanceof Error && error.message ? error.message : translate("ra.message.error")}</Alert>;
}
