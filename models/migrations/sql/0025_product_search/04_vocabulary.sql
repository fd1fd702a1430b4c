-- The words of a store's products, for the correction of words that match nothing. A word may be listed twice: a unique key would let
-- the writers of products wait for each other. Words that no product has any more stay; a correction counts the products.
CREATE TABLE search_words (
    tenant_id bigint NOT NULL DEFAULT nullif(current_setting('vitrine.tenant', true), '')::bigint
        CONSTRAINT search_words_tenant_fkey REFERENCES tenants (id),
    id bigint GENERATED ALWAYS AS IDENTITY,
    word text COLLATE "C" NOT NULL,
    -- Of each letter from a to z, whether the word has one, and whether it has two: a wrong letter changes at most two bits.
    letters bit(52) NOT NULL,
    CONSTRAINT search_words_pkey PRIMARY KEY (tenant_id, id)
);
CREATE INDEX search_words_word_idx ON search_words (tenant_id, word);
CREATE INDEX search_words_length_idx ON search_words (tenant_id, length(word)) INCLUDE (word, letters);
SELECT vitrine_keep_apart('search_words');

CREATE FUNCTION vitrine_letters(word text) RETURNS bit(52)
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN (
        SELECT string_agg(CASE WHEN n.count > 0 THEN '1' ELSE '0' END || CASE WHEN n.count > 1 THEN '1' ELSE '0' END, '' ORDER BY n.letter)
        FROM (
            SELECT l.letter, length(word) - length(replace(word, l.letter, '')) AS count
            FROM unnest(string_to_array('a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q,r,s,t,u,v,w,x,y,z', ',')) AS l (letter)
        ) AS n
    )::bit(52);

-- Add the words of these products; of three letters or more, and made of the letters a to z.
CREATE FUNCTION vitrine_add_search_words(store bigint, ids bigint[]) RETURNS void LANGUAGE plpgsql AS $function$
BEGIN
    IF cardinality(ids) > 50 THEN
        DISCARD PLANS;
    END IF;
    INSERT INTO search_words (tenant_id, word, letters)
    SELECT store, n.word, vitrine_letters(n.word)
    FROM (
        SELECT DISTINCT w.word COLLATE "C" AS word
        FROM unnest(ids) AS i (id), LATERAL (
            SELECT p.search FROM products p WHERE p.tenant_id = store AND p.id = i.id AND p.deleted_at IS NULL OFFSET 0
        ) AS p, unnest(tsvector_to_array(p.search)) AS w (word)
        WHERE length(w.word) > 2 AND translate(w.word, 'abcdefghijklmnopqrstuvwxyz', '') = ''
    ) AS n
    WHERE NOT EXISTS (SELECT FROM search_words s WHERE s.tenant_id = store AND s.word = n.word)
    ORDER BY n.word;
END
$function$;
