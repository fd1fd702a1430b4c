-- The words of a text are what vitrine_words leaves between spaces. to_tsvector parsed them once more, and read a float in `10e5kit`: neither
-- the word nor its beginnings were found. Words are cut like the terms of a search, to 64 characters (kernel.text.search_terms).
CREATE OR REPLACE FUNCTION vitrine_search_vector(store bigint, words text) RETURNS tsvector
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    RETURN array_to_tsvector(array_append(
        ARRAY(
            SELECT "left"(w.word, 64)
            FROM unnest(string_to_array("left"(vitrine_words("left"(words, 100000)), 100000), ' ')) AS w (word)
            WHERE w.word <> ''
        ),
        '#' || store
    ));
