-- Undo 0072_menus. All menus are lost.
DROP TABLE menu_items;
DROP TABLE menus;
