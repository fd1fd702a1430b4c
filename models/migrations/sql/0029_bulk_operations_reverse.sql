DROP TABLE bulk_results;
DROP TABLE bulk_operations;
