DROP FUNCTION vitrine_adjust_combination_stock(bigint, bigint[], bigint[], bigint[]);
DROP FUNCTION vitrine_adjust_product_stock(bigint, bigint[], bigint[], bigint[]);
