-- The condition on a product for one word of a search. As in 0025, but a part of one character of a word joined by hyphens is that
-- character, not the beginning of a word: of `220-v` and `p-30` each part alone would match half the catalogue.
CREATE OR REPLACE FUNCTION vitrine_word_query(word text) RETURNS tsquery
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN ((
        SELECT string_agg(CASE
            WHEN length(p.part) = 1 AND strpos(word, '-') > 0 THEN '(''' || p.part || ''')'
            ELSE '(''' || p.part || ''':*' || coalesce(' | ''~' || vitrine_stem(p.part) || '''', '') || ')'
        END, ' & ')
        FROM unnest(string_to_array(word, '-')) AS p (part)
    ) || CASE WHEN strpos(word, '-') > 0 THEN ' | ''' || "left"(replace(word, '-', ''), 64) || ''':*' ELSE '' END)::tsquery;
