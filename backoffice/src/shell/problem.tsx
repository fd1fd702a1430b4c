// A page that can't be shown. What isn't an error of the server is one of the program, such as a part of it that didn't load: a server with a
// newer version has others.
import Alert from "@mui/material/Alert";
import Button from "@mui/material/Button";
import type { FallbackProps } from "react-error-boundary";
import { ServerError } from "../graphql/errors";
import { i18nProvider } from "../texts";

const translate = i18nProvider.translate;

export function Problem({ error }: FallbackProps) {
  if (error instanceof ServerError) return <Alert severity="error">{error.message}</Alert>;
  const reload = <Button color="inherit" onClick={() => location.reload()}>{translate("ra.action.update_application")}</Button>;
  return <Alert severity="error" action={reload}>{translate("ra.message.error")}</Alert>;
}
