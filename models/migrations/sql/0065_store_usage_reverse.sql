-- Undo 0065_store_usage. What stores used is lost.
DROP TABLE store_usage;
