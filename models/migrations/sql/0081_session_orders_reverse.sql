DROP INDEX sessions_created_idx, sessions_used_idx;
