-- Undo 0085_warehouse_dispatch. Which warehouse gave the units of an order is lost: they return to the first one.
DROP FUNCTION vitrine_adjust_combination_stock(bigint, bigint[], bigint[], bigint[], bigint);
DROP FUNCTION vitrine_adjust_product_stock(bigint, bigint[], bigint[], bigint[], bigint);
DROP FUNCTION vitrine_move_warehouse_stock(bigint, bigint, bigint[], bigint[], bigint[]);
DROP FUNCTION vitrine_return_warehouse_stock(bigint, bigint, bigint, bigint, bigint);
DROP FUNCTION vitrine_take_warehouse_stock(bigint, bigint, bigint, bigint, bigint);
DROP TABLE order_allocations;
DROP FUNCTION vitrine_warehouse_candidates(bigint, bigint[], integer, text, text, bigint);
DROP FUNCTION vitrine_state_code(text, text);
