-- What the search index holds of a product: its words, words with hyphens whole as well, and the stems of words.

-- The Portuguese stem of a folded word; null for stop words, and for what is not made of the letters a to z. Plurals first: the stemmer
-- expects accents, without which it leaves `botoes` and `botao`, `aneis` and `anel` apart.
CREATE FUNCTION vitrine_stem(word text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN translate(word, 'abcdefghijklmnopqrstuvwxyz', '') = '' THEN (ts_lexize('portuguese_stem'::regdictionary, CASE
        WHEN length(word) < 4 OR "right"(word, 1) <> 's' THEN word
        WHEN "right"(word, 3) IN ('oes', 'aes') AND word <> 'maes' THEN "left"(word, -3) || 'ao'
        WHEN "right"(word, 2) = 'ns' THEN "left"(word, -2) || 'm'
        WHEN length(word) < 5 OR "right"(word, 2) <> 'is' THEN word
        WHEN "right"(word, 3) IN ('ais', 'eis', 'ois', 'uis') THEN "left"(word, -2) || 'l'
        ELSE "left"(word, -2) || 'il'
    END))[1] END;

-- The words of a text, cut to 64 characters as the terms of a search. Of words joined by hyphens each, and all in one: `abc-123` is `abc`,
-- `123` and `abc123`. U+E000, of the private use area, keeps the place of a hyphen: vitrine_words leaves it. OFFSET 0 keeps the planner
-- from calling vitrine_words, which takes most of the time, for each use of its result.
CREATE FUNCTION vitrine_product_words(words text) RETURNS text[]
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN ARRAY(
        SELECT "left"(w.word, 64)
        FROM (
            SELECT "left"(vitrine_words(translate("left"(words, 100000), U&'-\2010\2011', U&'\E000\E000\E000')), 100000) AS words
            OFFSET 0
        ) AS t, unnest(
            string_to_array(translate(t.words, U&'\E000', ' '), ' ') || CASE WHEN strpos(t.words, U&'\E000') > 0 THEN ARRAY(
                SELECT replace(j.word, U&'\E000', '') FROM unnest(string_to_array(t.words, ' ')) AS j (word) WHERE strpos(j.word, U&'\E000') > 0
            ) END
        ) AS w (word)
        WHERE w.word <> ''
    );

-- Words, and stems with a `~`, which never comes out of vitrine_words.
CREATE FUNCTION vitrine_product_lexemes(words text) RETURNS text[]
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN (
        SELECT t.words || array_remove(ARRAY(SELECT '~' || vitrine_stem(w.word) FROM unnest(t.words) AS w (word)), NULL)
        FROM (SELECT vitrine_product_words(words) AS words OFFSET 0) AS t
    );

-- The texts of a product; its SKU is one word with hyphens, whatever separates its parts.
CREATE FUNCTION vitrine_sku_word(sku text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN translate(sku, '/._ ', '----');

-- The condition on a product for one word of a search, a folded word or several joined by hyphens: beginnings of words, or their stems.
CREATE FUNCTION vitrine_word_query(word text) RETURNS tsquery
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN ((
        SELECT string_agg('(''' || p.part || ''':*' || coalesce(' | ''~' || vitrine_stem(p.part) || '''', '') || ')', ' & ')
        FROM unnest(string_to_array(word, '-')) AS p (part)
    ) || CASE WHEN strpos(word, '-') > 0 THEN ' | ''' || "left"(replace(word, '-', ''), 64) || ''':*' ELSE '' END)::tsquery;

-- The same for the word exactly as it is.
CREATE FUNCTION vitrine_exact_query(word text) RETURNS tsquery
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN ('''' || replace(word, '-', ''' & ''') || ''''
        || CASE WHEN strpos(word, '-') > 0 THEN ' | ''' || "left"(replace(word, '-', ''), 64) || '''' ELSE '' END)::tsquery;

-- The words that a product must have to be found: without stop words, unless there are no others.
CREATE FUNCTION vitrine_required_words(words text[]) RETURNS text[]
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN coalesce(
        nullif(ARRAY(
            SELECT w.word FROM unnest(words) AS w (word)
            WHERE vitrine_stem(w.word) IS NOT NULL OR translate(w.word, 'abcdefghijklmnopqrstuvwxyz', '') <> ''
        ), '{}'),
        words
    );

-- The conditions on a product for all words of a search; null without words.
CREATE FUNCTION vitrine_products_query(words text[], exact boolean) RETURNS tsquery
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN (
        SELECT string_agg('(' || (CASE WHEN exact THEN vitrine_exact_query(w.word) ELSE vitrine_word_query(w.word) END)::text || ')', ' & ')
        FROM unnest(vitrine_required_words(words)) AS w (word)
    )::tsquery;
