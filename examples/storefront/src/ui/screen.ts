// What depends on the width of the screen and can't be said in CSS.

import { signal } from "@preact/signals";

// As in styles.css.
const query = matchMedia("(min-width: 60rem)");

export const isWide = signal(query.matches);

query.addEventListener("change", () => (isWide.value = query.matches));
