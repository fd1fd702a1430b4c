-- Which index a batch reads depends on how many counters are of carts.
ANALYZE event_sequences;
