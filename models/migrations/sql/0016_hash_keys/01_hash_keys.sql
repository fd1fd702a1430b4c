-- Keys of keyed hashes (recovery codes, order tokens) made under earlier secret keys: a hash can't be made again under another key.
CREATE TABLE hash_keys (
    id bigint GENERATED ALWAYS AS IDENTITY CONSTRAINT hash_keys_pkey PRIMARY KEY,
    purpose text NOT NULL,
    key_id bytea NOT NULL CONSTRAINT hash_keys_key_id_length CHECK (octet_length(key_id) = 4),
    sealed_key bytea NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT hash_keys_purpose_key UNIQUE (purpose, key_id)
);
