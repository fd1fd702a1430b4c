-- The code of a state of Brazil, of its name or code; of a blank one the state of the CEP's digits (kernel/geography.py).
CREATE FUNCTION vitrine_state_code(state text, cep text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $function$
SELECT CASE WHEN btrim(state, E' \t\n\r') <> '' THEN coalesce(
    (SELECT n.code FROM unnest(
        '{AC,AL,AM,AP,BA,CE,DF,ES,GO,MA,MG,MS,MT,PA,PB,PE,PI,PR,RJ,RN,RO,RR,RS,SC,SE,SP,TO}'::text[],
        '{acre,alagoas,amazonas,amapa,bahia,ceara,distrito federal,espirito santo,goias,maranhao,minas gerais,mato grosso do sul,mato grosso,
            para,paraiba,pernambuco,piaui,parana,rio de janeiro,rio grande do norte,rondonia,roraima,rio grande do sul,santa catarina,sergipe,
            sao paulo,tocantins}'::text[]
    ) AS n (code, name) WHERE n.name = btrim(regexp_replace(vitrine_fold(state), '\s+', ' ', 'g'))),
    upper(btrim(state, E' \t\n\r'))
) ELSE coalesce((SELECT r.code FROM unnest(
    '{1000,20000,29000,30000,40000,49000,50000,57000,58000,59000,60000,64000,65000,66000,68900,69000,69300,69400,69900,70000,72800,73000,73700,
        76800,77000,78000,79000,80000,88000,90000}'::integer[],
    '{SP,RJ,ES,MG,BA,SE,PE,AL,PB,RN,CE,PI,MA,PA,AP,AM,RR,AM,AC,DF,GO,DF,GO,RO,TO,MT,MS,PR,SC,RS}'::text[]
) AS r (start, code) WHERE r.start <= left(cep, 5)::integer ORDER BY r.start DESC LIMIT 1), '') END
$function$;

-- The active warehouses of the store and of these vendors, the preferred one first, for an address and a customer. `is_able`: delivers there
-- and serves the customer. The rules are those of domain/warehouses/dispatch.py.
CREATE FUNCTION vitrine_warehouse_candidates(
    store bigint, vendors bigint[], to_cep integer, to_state text, to_city text, customer bigint
) RETURNS TABLE (id bigint, vendor_id bigint, shipping_delay integer, delivery_time integer, is_able boolean, place bigint)
LANGUAGE plpgsql STABLE ROWS 10 AS $function$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    SELECT w.id, w.vendor_id, w.shipping_delay, a.delivery_time,
        (a.id IS NOT NULL OR NOT EXISTS (
            SELECT 1 FROM warehouse_areas x WHERE x.tenant_id = w.tenant_id AND x.warehouse_id = w.id AND x.status = 'A'
        )) AND (m.is_exclusive_member OR NOT EXISTS (
            SELECT 1 FROM warehouse_usergroups g
            WHERE g.tenant_id = w.tenant_id AND g.warehouse_id = w.id AND g.status = 'A' AND g.allocation_type = 'E'
        )),
        row_number() OVER (ORDER BY w.vendor_id IS NULL, m.priority DESC NULLS LAST, w.priority DESC, NOT w.is_default,
            coalesce(a.delivery_time, 0), w.id)
    FROM warehouses w
    CROSS JOIN LATERAL (
        SELECT max(g.priority) AS priority, coalesce(bool_or(g.allocation_type = 'E'), false) AS is_exclusive_member
        FROM warehouse_usergroups g
        JOIN usergroup_memberships b
            ON b.tenant_id = g.tenant_id AND b.usergroup_id = g.usergroup_id AND b.user_id = customer AND b.status = 'A'
        WHERE g.tenant_id = w.tenant_id AND g.warehouse_id = w.id AND g.status = 'A'
    ) m
    LEFT JOIN LATERAL (
        SELECT a.id, a.delivery_time
        FROM warehouse_areas a CROSS JOIN LATERAL (
            SELECT count(*) AS ranges,
                min(z.last_cep - z.first_cep) FILTER (WHERE to_cep BETWEEN z.first_cep AND z.last_cep) AS width
            FROM warehouse_zipcodes z WHERE z.tenant_id = a.tenant_id AND z.area_id = a.id
        ) z
        WHERE a.tenant_id = w.tenant_id AND a.warehouse_id = w.id AND a.status = 'A' AND CASE
            WHEN z.ranges > 0 THEN z.width IS NOT NULL
            WHEN cardinality(a.cities) > 0 THEN (cardinality(a.states) = 0 OR to_state = ANY(a.states))
                AND vitrine_fold(to_city) IN (SELECT vitrine_fold(c.city) FROM unnest(a.cities) AS c (city))
            ELSE cardinality(a.states) = 0 OR to_state = ANY(a.states)
        END
        ORDER BY z.width NULLS LAST, cardinality(a.cities) = 0, cardinality(a.states) = 0, a.delivery_time, a.id LIMIT 1
    ) a ON true
    WHERE w.tenant_id = store AND w.status = 'A' AND w.deleted_at IS NULL AND (w.vendor_id IS NULL OR w.vendor_id = ANY(vendors))
    ORDER BY 6;
END
$function$;
