// The items of a menu as text.
import Box from "@mui/material/Box";
import { Names } from "../../derived/names";
import { entityName } from "../../texts";
import { type Item, type Target, TARGETS } from "./terms";

export default function Items({ items }: { items: readonly Item[] }) {
  return (
    <Box component="ul" sx={{ m: 0, pl: 2 }}>
      {items.map((item, index) => <li key={index}>{item.name} <TargetOf target={item.target ?? {}} />{item.items && <Items items={item.items} />}</li>)}
    </Box>
  );
}

function TargetOf({ target }: { target: Target }) {
  const entity = TARGETS.find((each) => target[`${each}_id`]);
  if (entity) return <>→ {entityName(entity, 1)}: <Names entity={entity} ids={[target[`${entity}_id`] ?? ""]} /></>;
  return target.link ? `→ ${target.link}` : null;
}
