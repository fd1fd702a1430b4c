// At an address that stores share: which of them.
import Button from "@mui/material/Button";
import TextField from "@mui/material/TextField";
import { useState } from "react";
import { chooseStore } from "../config";
import { i18nProvider } from "../texts";
import { Card } from "./card";

const ID = /^[0-9a-f]{8}-?([0-9a-f]{4}-?){3}[0-9a-f]{12}$/i;
const translate = i18nProvider.translate;

export function ChooseStore() {
  const [store, setStore] = useState("");

  const choose = () => {
    const entered = store.trim();
    if (ID.test(entered)) chooseStore(entered);
    else if (entered) location.assign(`${location.protocol}//${entered.replace(/^https?:\/\//, "").replace(/\/.*$/, "")}/admin`);
  };

  return (
    <Card title={translate("store.choose")} onSubmit={choose}>
      <TextField label={translate("store.address")} value={store} onChange={(event) => setStore(event.target.value)} name="store" autoFocus fullWidth size="medium" />
      <Button type="submit" variant="contained" size="large">{translate("store.continue")}</Button>
    </Card>
  );
}
