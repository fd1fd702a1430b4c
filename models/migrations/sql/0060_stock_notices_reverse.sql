-- Undo 0060_stock_notices. Addresses that wait for products are lost.
DROP TABLE stock_notices;
