-- Undo 0073_schema_usage. What was counted is lost.
DROP TABLE schema_usage;
