DROP INDEX event_sequences_carts_idx;
