-- Change the stock of products or combinations, all rows locked in id order first. Returns the changed rows; one without enough stock is
-- neither changed nor returned.
--
-- Two statements, because one deadlocks: after `WITH locked AS (SELECT … FOR NO KEY UPDATE) UPDATE …` waited for a row, its snapshot is
-- older than the row. The UPDATE then locks the row's current version again and queues behind the transactions that wait for this one.
-- In a volatile PL/pgSQL function the second statement has a new snapshot.
CREATE FUNCTION vitrine_adjust_product_stock(
    store bigint, ids bigint[], on_hand_changes bigint[], reserved_changes bigint[]
) RETURNS TABLE (id bigint, name text, vendor_id bigint, stock_after bigint, stock_before bigint) LANGUAGE plpgsql AS $function$
#variable_conflict use_column
BEGIN
    PERFORM FROM products p WHERE p.tenant_id = store AND p.id = ANY(ids) ORDER BY p.id FOR NO KEY UPDATE;
    RETURN QUERY
    UPDATE products p SET on_hand = p.on_hand + c.on_hand, reserved = p.reserved + c.reserved
    FROM unnest(ids, on_hand_changes, reserved_changes) AS c (id, on_hand, reserved)
    WHERE p.tenant_id = store AND p.id = c.id AND p.on_hand + c.on_hand >= p.reserved + c.reserved
    RETURNING p.id, p.name::text, p.vendor_id, p.stock, p.stock - c.on_hand + c.reserved;
END
$function$;

CREATE FUNCTION vitrine_adjust_combination_stock(
    store bigint, ids bigint[], on_hand_changes bigint[], reserved_changes bigint[]
) RETURNS TABLE (id bigint, name text, vendor_id bigint, stock_after bigint, stock_before bigint) LANGUAGE plpgsql AS $function$
#variable_conflict use_column
BEGIN
    PERFORM FROM combinations k WHERE k.tenant_id = store AND k.id = ANY(ids) ORDER BY k.id FOR NO KEY UPDATE;
    RETURN QUERY
    UPDATE combinations k SET on_hand = k.on_hand + c.on_hand, reserved = k.reserved + c.reserved
    FROM unnest(ids, on_hand_changes, reserved_changes) AS c (id, on_hand, reserved), products p
    WHERE k.tenant_id = store AND k.id = c.id AND k.on_hand + c.on_hand >= k.reserved + c.reserved
        AND p.tenant_id = store AND p.id = k.product_id
    RETURNING k.id, p.name || ' (' || k.sku || ')', p.vendor_id, k.stock, k.stock - c.on_hand + c.reserved;
END
$function$;
