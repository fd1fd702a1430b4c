-- Text as search and sorting compare it, and the policy every store table gets.

-- Frozen copies of kernel.text.fold_sql('$1') and words_sql('$1'); tests/models/test_search.py compares them with Python's fold.
-- NFKD and a table rather than lower(), so that the result does not depend on the locale the database was made with.
CREATE FUNCTION vitrine_fold(text) RETURNS text
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    RETURN translate(regexp_replace(lower(normalize($1, NFKD) COLLATE "C"), '[\u0300-\u036f]+', '', 'g'), U&'\00DF\1E9E\00E6\00C6\0153\0152\00F8\00D8\0111\0110\00F0\00D0\0127\0126\0131\0142\0141\00FE\00DE\014B\014A\0167\0166\03C2\0391\0392\0393\0394\0395\0396\0397\0398\0399\039A\039B\039C\039D\039E\039F\03A0\03A1\03A3\03A4\03A5\03A6\03A7\03A8\03A9\0400\0401\0402\0403\0404\0405\0406\0407\0408\0409\040A\040B\040C\040D\040E\040F\0410\0411\0412\0413\0414\0415\0416\0417\0418\0419\041A\041B\041C\041D\041E\041F\0420\0421\0422\0423\0424\0425\0426\0427\0428\0429\042A\042B\042C\042D\042E\042F\0490', U&'\0073\0073\0061\0061\006F\006F\006F\006F\0064\0064\0064\0064\0068\0068\0069\006C\006C\0074\0074\006E\006E\0074\0074\03C3\03B1\03B2\03B3\03B4\03B5\03B6\03B7\03B8\03B9\03BA\03BB\03BC\03BD\03BE\03BF\03C0\03C1\03C3\03C4\03C5\03C6\03C7\03C8\03C9\0450\0451\0452\0453\0454\0455\0456\0457\0458\0459\045A\045B\045C\045D\045E\045F\0430\0431\0432\0433\0434\0435\0436\0437\0438\0439\043A\043B\043C\043D\043E\043F\0440\0441\0442\0443\0444\0445\0446\0447\0448\0449\044A\044B\044C\044D\044E\044F\0491');

CREATE FUNCTION vitrine_words(text) RETURNS text
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    RETURN regexp_replace(translate(regexp_replace(lower(normalize(regexp_replace($1, '</?[A-Za-z][^>]*>', ' ', 'g'), NFKD) COLLATE "C"), '[\u0300-\u036f]+', '', 'g'), U&'\00DF\1E9E\00E6\00C6\0153\0152\00F8\00D8\0111\0110\00F0\00D0\0127\0126\0131\0142\0141\00FE\00DE\014B\014A\0167\0166\03C2\0391\0392\0393\0394\0395\0396\0397\0398\0399\039A\039B\039C\039D\039E\039F\03A0\03A1\03A3\03A4\03A5\03A6\03A7\03A8\03A9\0400\0401\0402\0403\0404\0405\0406\0407\0408\0409\040A\040B\040C\040D\040E\040F\0410\0411\0412\0413\0414\0415\0416\0417\0418\0419\041A\041B\041C\041D\041E\041F\0420\0421\0422\0423\0424\0425\0426\0427\0428\0429\042A\042B\042C\042D\042E\042F\0490', U&'\0073\0073\0061\0061\006F\006F\006F\006F\0064\0064\0064\0064\0068\0068\0069\006C\006C\0074\0074\006E\006E\0074\0074\03C3\03B1\03B2\03B3\03B4\03B5\03B6\03B7\03B8\03B9\03BA\03BB\03BC\03BD\03BE\03BF\03C0\03C1\03C3\03C4\03C5\03C6\03C7\03C8\03C9\0450\0451\0452\0453\0454\0455\0456\0457\0458\0459\045A\045B\045C\045D\045E\045F\0430\0431\0432\0433\0434\0435\0436\0437\0438\0439\043A\043B\043C\043D\043E\043F\0440\0441\0442\0443\0444\0445\0446\0447\0448\0449\044A\044B\044C\044D\044E\044F\0491'), '[\u0001-\u002f\u003a-\u0040\u005b-\u0060\u007b-\u00bf\u00d7\u00f7\u2000-\u2bff\u3000-\u303f\ufffc-\uffff\U0001f000-\U0001faff]+', ' ', 'g');

-- The words of a row, and one lexeme for its store: '#' never comes out of vitrine_words, so nobody can search for it, while
-- search_products and search_users add it to every query: the index then meets the words of one store only, however many stores
-- there are. Cut before and after folding, which can make a text longer: a tsvector holds at most 1 MB. Positions are not kept.
CREATE FUNCTION vitrine_search_vector(store bigint, words text) RETURNS tsvector
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    RETURN strip(to_tsvector('simple'::regconfig, "left"(vitrine_words("left"(words, 100000)), 100000)))
        || array_to_tsvector(ARRAY['#' || store]);

-- For this migration and those to come: put a table with tenant_id under row-level security.
CREATE FUNCTION vitrine_keep_apart(store_table regclass) RETURNS void LANGUAGE plpgsql AS $function$
BEGIN
    EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY', store_table);
    EXECUTE format('ALTER TABLE %s FORCE ROW LEVEL SECURITY', store_table);
    EXECUTE format($policy$
        CREATE POLICY own_store ON %s
        USING (tenant_id = nullif(current_setting('vitrine.tenant', true), '')::bigint)
        WITH CHECK (tenant_id = nullif(current_setting('vitrine.tenant', true), '')::bigint)
        $policy$, store_table);
END
$function$;
REVOKE EXECUTE ON FUNCTION vitrine_keep_apart(regclass) FROM PUBLIC;
