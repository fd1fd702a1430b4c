-- Undo 0009_warehouses.

DROP TABLE warehouse_usergroups, warehouse_zipcodes, warehouse_areas, warehouses;
