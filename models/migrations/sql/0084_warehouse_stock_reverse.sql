-- Undo 0084_warehouse_stock. The stock of products and combinations stays; which warehouse has how much of it is lost.
DROP TRIGGER switch_stock ON warehouses;
DROP TRIGGER spread_stock ON combinations;
DROP TRIGGER spread_stock ON products;
DROP FUNCTION vitrine_switch_warehouse_stock();
DROP FUNCTION vitrine_spread_stock();
DROP FUNCTION vitrine_active_warehouse_stock(bigint, bigint, bigint);
DROP TABLE warehouse_stock;
