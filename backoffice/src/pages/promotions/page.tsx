// One promotion: the form with its conditions and bonuses, and beside it what an order would cost.
import { useParams } from "react-router-dom";
import { mayRead } from "../../data/permissions";
import { EntityEdit } from "../../derived/edit";
import { useEntity } from "../../entities/load";
import { Trial } from "./trial";

const BY_HAND = { fields: ["condition_tree", "bonus_list"] };

export default function PromotionPage() {
  const { id = "" } = useParams();
  return <EntityEdit key={id} entity={useEntity("promotion")} byHand={BY_HAND} aside={mayRead("order_preview") && <Trial promotion={id} />} />;
}
