-- Add the words of these products; of three letters or more, and made of the letters a to z. OFFSET 0 has each word looked up, whatever the
-- number of the store's words.
CREATE OR REPLACE FUNCTION vitrine_add_search_words(store bigint, ids bigint[]) RETURNS void LANGUAGE plpgsql
    SET enable_seqscan = off SET plan_cache_mode = force_generic_plan AS $function$
DECLARE
    part bigint[];
BEGIN
    IF cardinality(ids) > 1000 THEN
        FOR part IN SELECT s.slice FROM vitrine_slices(ids) AS s LOOP
            PERFORM vitrine_add_search_words(store, part);
        END LOOP;
        RETURN;
    END IF;
    IF cardinality(ids) > 50 THEN
        DISCARD PLANS;
    END IF;
    INSERT INTO search_words (tenant_id, word, letters)
    SELECT store, n.word, vitrine_letters(n.word)
    FROM (
        SELECT DISTINCT w.word COLLATE "C" AS word
        FROM unnest(ids) AS i (id), LATERAL (
            SELECT p.search, p.deleted_at FROM products p WHERE p.tenant_id = store AND p.id = i.id OFFSET 0
        ) AS p, unnest(tsvector_to_array(p.search)) AS w (word)
        WHERE p.deleted_at IS NULL AND length(w.word) > 2 AND translate(w.word, 'abcdefghijklmnopqrstuvwxyz', '') = ''
    ) AS n
    WHERE NOT EXISTS (SELECT FROM search_words s WHERE s.tenant_id = store AND s.word = n.word OFFSET 0)
    ORDER BY n.word;
END
$function$;
