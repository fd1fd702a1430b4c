-- The counters of carts' events by their creation, for those that retention deletes: the ids of carts, unlike theirs, are random.
CREATE INDEX CONCURRENTLY event_sequences_carts_idx ON event_sequences (tenant_id, public_id) WHERE subject_type = 'cart';
