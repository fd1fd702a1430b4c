// A new record of any entity.
import Paper from "@mui/material/Paper";
import { CreateBase, useResourceContext, useTranslate } from "ra-core";
import { mayAct } from "../data/permissions";
import { useEntity } from "../entities/load";
import NotFound from "../shell/not-found";
import { Page } from "../shell/page";
import { entityName } from "../texts";
import { EntityForm, useNotifyError } from "./form";

export default function DerivedCreate() {
  const translate = useTranslate();
  const entity = useEntity(useResourceContext() ?? "");
  const notifyError = useNotifyError();
  if (!entity.create) return <NotFound />;
  const title = translate("ra.page.create", { name: entityName(entity.name, 1).toLowerCase() });
  return (
    <CreateBase redirect={mayAct("edit", entity.name) ? "edit" : "list"} mutationOptions={{ onError: notifyError }}>
      <Page title={title}>
        <Paper><EntityForm entity={entity} write={entity.create} isNew /></Paper>
      </Page>
    </CreateBase>
  );
}
