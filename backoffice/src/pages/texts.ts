// The texts of the pages made by hand.
import type { Texts } from "../texts/app";

export const PAGES: Texts = {};
