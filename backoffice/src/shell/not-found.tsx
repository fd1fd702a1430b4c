import Typography from "@mui/material/Typography";
import { useTranslate } from "ra-core";
import { Page } from "./page";

export default function NotFound() {
  const translate = useTranslate();
  return (
    <Page title={translate("ra.page.not_found")}>
      <Typography>{translate("ra.message.not_found")}</Typography>
    </Page>
  );
}
