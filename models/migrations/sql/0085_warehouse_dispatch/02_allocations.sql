-- The units of an order that a warehouse gave, as long as the order has them.
CREATE TABLE order_allocations (
    tenant_id bigint NOT NULL DEFAULT nullif(current_setting('vitrine.tenant', true), '')::bigint
        CONSTRAINT order_allocations_tenant_fkey REFERENCES tenants (id),
    id bigint GENERATED ALWAYS AS IDENTITY,
    public_id uuid NOT NULL DEFAULT vitrine_uuid7(),
    order_id bigint NOT NULL,
    product_id bigint NOT NULL,
    combination_id bigint,
    warehouse_id bigint NOT NULL,
    quantity bigint NOT NULL CONSTRAINT order_allocations_quantity_positive CHECK (quantity > 0),
    CONSTRAINT order_allocations_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT order_allocations_public_id_key UNIQUE (tenant_id, public_id),
    CONSTRAINT order_allocations_order_fkey FOREIGN KEY (tenant_id, order_id) REFERENCES orders (tenant_id, id) ON DELETE CASCADE,
    CONSTRAINT order_allocations_product_fkey FOREIGN KEY (tenant_id, product_id) REFERENCES products (tenant_id, id) ON DELETE CASCADE,
    CONSTRAINT order_allocations_combination_fkey FOREIGN KEY (tenant_id, combination_id)
        REFERENCES combinations (tenant_id, id) ON DELETE CASCADE,
    CONSTRAINT order_allocations_warehouse_fkey FOREIGN KEY (tenant_id, warehouse_id)
        REFERENCES warehouses (tenant_id, id) ON DELETE CASCADE
);
CREATE UNIQUE INDEX order_allocations_key
    ON order_allocations (tenant_id, order_id, product_id, coalesce(combination_id, 0), warehouse_id);
CREATE INDEX order_allocations_product_idx ON order_allocations (tenant_id, product_id);
CREATE INDEX order_allocations_combination_idx ON order_allocations (tenant_id, combination_id) WHERE combination_id IS NOT NULL;
CREATE INDEX order_allocations_warehouse_idx ON order_allocations (tenant_id, warehouse_id);
SELECT vitrine_keep_apart('order_allocations');

-- Take units of a product (combination 0) or a combination from its warehouses for an order: from the one that dispatches it first, then from
-- the others in their order. Its row is locked.
CREATE FUNCTION vitrine_take_warehouse_stock(store bigint, order_number bigint, product bigint, combination bigint, units bigint)
RETURNS void LANGUAGE plpgsql AS $function$
DECLARE
    missing bigint := units;
    change bigint;
    item record;
BEGIN
    FOR item IN
        SELECT s.id, s.warehouse_id, s.quantity
        FROM vitrine_active_warehouse_stock(store, product, combination) WITH ORDINALITY AS s (id, warehouse_id, quantity, place)
        LEFT JOIN (
            SELECT w.id, w.place
            FROM orders o JOIN products p ON p.tenant_id = o.tenant_id AND p.id = product
            LEFT JOIN LATERAL (
                SELECT a.state, a.city, CASE WHEN a.country = 'BR' THEN regexp_replace(a.zipcode, '\D', '', 'g') END AS cep
                FROM order_addresses a WHERE a.tenant_id = o.tenant_id AND a.order_id = o.id AND a.kind = 'S'
            ) a ON true
            CROSS JOIN LATERAL vitrine_warehouse_candidates(
                store, ARRAY[p.vendor_id], CASE WHEN a.cep ~ '^\d{8}$' THEN a.cep::integer END,
                CASE WHEN a.cep IS NULL THEN upper(btrim(a.state)) WHEN a.cep ~ '^\d{8}$' THEN vitrine_state_code(a.state, a.cep)
                    ELSE vitrine_state_code(a.state, '00000') END,
                btrim(coalesce(a.city, '')), o.user_id
            ) AS w
            WHERE o.tenant_id = store AND o.id = order_number AND w.is_able
        ) w ON w.id = s.warehouse_id
        ORDER BY w.place NULLS LAST, s.place
    LOOP
        change := least(missing, item.quantity);
        CONTINUE WHEN change = 0;
        UPDATE warehouse_stock SET quantity = quantity - change WHERE tenant_id = store AND id = item.id;
        INSERT INTO order_allocations AS a (tenant_id, order_id, product_id, combination_id, warehouse_id, quantity)
        VALUES (store, order_number, product, nullif(combination, 0), item.warehouse_id, change)
        ON CONFLICT (tenant_id, order_id, product_id, coalesce(combination_id, 0), warehouse_id)
            DO UPDATE SET quantity = a.quantity + excluded.quantity;
        missing := missing - change;
        EXIT WHEN missing = 0;
    END LOOP;
END
$function$;

-- Give units back to the warehouses that an order has them of, the one that it took from last first. Where such a warehouse isn't active any
-- more, the trigger on the stock gives them to the first one.
CREATE FUNCTION vitrine_return_warehouse_stock(store bigint, order_number bigint, product bigint, combination bigint, units bigint)
RETURNS void LANGUAGE plpgsql AS $function$
DECLARE
    rest bigint := units;
    change bigint;
    item record;
BEGIN
    FOR item IN
        SELECT a.id, a.quantity, s.id AS stock_id
        FROM order_allocations a
        LEFT JOIN vitrine_active_warehouse_stock(store, product, combination) AS s ON s.warehouse_id = a.warehouse_id
        WHERE a.tenant_id = store AND a.order_id = order_number AND a.product_id = product AND coalesce(a.combination_id, 0) = combination
        ORDER BY a.id DESC
    LOOP
        change := least(rest, item.quantity);
        UPDATE warehouse_stock SET quantity = quantity + change WHERE tenant_id = store AND id = item.stock_id;
        IF change = item.quantity THEN
            DELETE FROM order_allocations WHERE tenant_id = store AND id = item.id;
        ELSE
            UPDATE order_allocations SET quantity = quantity - change WHERE tenant_id = store AND id = item.id;
        END IF;
        rest := rest - change;
        EXIT WHEN rest = 0;
    END LOOP;
END
$function$;

-- The same for all products or combinations whose units an order takes (more than 0) or gives back.
CREATE FUNCTION vitrine_move_warehouse_stock(store bigint, order_number bigint, products bigint[], combinations bigint[], units bigint[])
RETURNS void LANGUAGE plpgsql AS $function$
BEGIN
    FOR place IN 1 .. coalesce(cardinality(units), 0) LOOP
        IF units[place] > 0 THEN
            PERFORM vitrine_take_warehouse_stock(store, order_number, products[place], combinations[place], units[place]);
        ELSIF units[place] < 0 THEN
            PERFORM vitrine_return_warehouse_stock(store, order_number, products[place], combinations[place], -units[place]);
        END IF;
    END LOOP;
END
$function$;

-- As those of 0014 for an order, whose units come from warehouses where the stock is divided among them. These come first, so that the
-- trigger on the stock has nothing left to move.
CREATE FUNCTION vitrine_adjust_product_stock(
    store bigint, ids bigint[], on_hand_changes bigint[], reserved_changes bigint[], order_number bigint
) RETURNS TABLE (id bigint, name text, vendor_id bigint, stock_after bigint, stock_before bigint) LANGUAGE plpgsql AS $function$
#variable_conflict use_column
BEGIN
    IF order_number IS NOT NULL AND (
        EXISTS (SELECT FROM warehouse_stock s WHERE s.tenant_id = store AND s.product_id = ANY(ids) AND s.combination_id IS NULL)
        OR EXISTS (SELECT FROM order_allocations a WHERE a.tenant_id = store AND a.order_id = order_number)
    ) THEN
        PERFORM FROM products p WHERE p.tenant_id = store AND p.id = ANY(ids) ORDER BY p.id FOR NO KEY UPDATE;
        PERFORM vitrine_move_warehouse_stock(store, order_number, array_agg(c.id), array_agg(0::bigint), array_agg(c.reserved - c.on_hand))
        FROM unnest(ids, on_hand_changes, reserved_changes) AS c (id, on_hand, reserved)
        HAVING count(*) > 0;
    END IF;
    RETURN QUERY SELECT * FROM vitrine_adjust_product_stock(store, ids, on_hand_changes, reserved_changes);
END
$function$;

CREATE FUNCTION vitrine_adjust_combination_stock(
    store bigint, ids bigint[], on_hand_changes bigint[], reserved_changes bigint[], order_number bigint
) RETURNS TABLE (id bigint, name text, vendor_id bigint, stock_after bigint, stock_before bigint) LANGUAGE plpgsql AS $function$
#variable_conflict use_column
BEGIN
    IF order_number IS NOT NULL AND (
        EXISTS (SELECT FROM warehouse_stock s WHERE s.tenant_id = store AND s.combination_id = ANY(ids))
        OR EXISTS (SELECT FROM order_allocations a WHERE a.tenant_id = store AND a.order_id = order_number)
    ) THEN
        PERFORM FROM combinations k WHERE k.tenant_id = store AND k.id = ANY(ids) ORDER BY k.id FOR NO KEY UPDATE;
        PERFORM vitrine_move_warehouse_stock(
            store, order_number, array_agg(k.product_id), array_agg(k.id), array_agg(c.reserved - c.on_hand)
        )
        FROM unnest(ids, on_hand_changes, reserved_changes) AS c (id, on_hand, reserved)
        JOIN combinations k ON k.tenant_id = store AND k.id = c.id
        HAVING count(*) > 0;
    END IF;
    RETURN QUERY SELECT * FROM vitrine_adjust_combination_stock(store, ids, on_hand_changes, reserved_changes);
END
$function$;
