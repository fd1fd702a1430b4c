// The texts of the page of menus.
import type { Texts } from "../../texts/app";

export const MENUS: Texts = {
  "menu.item": ["Item novo", "New item"],
  "menu.name": ["Texto", "Text"],
  "menu.target": ["Leva a", "Leads to"],
  "menu.link": ["Endereço", "Address"],
  "menu.none": ["Nada: é um título", "Nothing: a heading"],
  "menu.add": ["Adicionar item", "Add an item"],
  "menu.add_here": ["Adicionar item aqui", "Add an item here"],
  "menu.add_below": ["Item abaixo", "Item below"],
  "menu.up": ["Subir", "Move up"],
  "menu.down": ["Descer", "Move down"],
};
