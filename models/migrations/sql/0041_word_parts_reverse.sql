CREATE OR REPLACE FUNCTION vitrine_word_query(word text) RETURNS tsquery
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN ((
        SELECT string_agg('(''' || p.part || ''':*' || coalesce(' | ''~' || vitrine_stem(p.part) || '''', '') || ')', ' & ')
        FROM unnest(string_to_array(word, '-')) AS p (part)
    ) || CASE WHEN strpos(word, '-') > 0 THEN ' | ''' || "left"(replace(word, '-', ''), 64) || ''':*' ELSE '' END)::tsquery;
