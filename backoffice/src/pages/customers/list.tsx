// Customers and users, with what guests may ask for.
import { EntityList } from "../../derived/list";
import { useEntity } from "../../entities/load";
import { GuestPrivacy } from "./privacy";

export default function CustomerList() {
  return <EntityList entity={useEntity("user")} actions={<GuestPrivacy />} />;
}
