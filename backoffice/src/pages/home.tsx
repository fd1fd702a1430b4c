import { useTranslate } from "ra-core";
import { Page } from "../shell/page";

export default function Home() {
  const translate = useTranslate();
  return <Page title={translate("app.home")}>{null}</Page>;
}
