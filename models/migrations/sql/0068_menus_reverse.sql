-- Undo 0068_menus. All menus are lost.
DROP TABLE menu_items;
DROP TABLE menus;
