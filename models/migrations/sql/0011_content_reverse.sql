-- Undo 0011_content. Everything in the tables is lost.

DROP FUNCTION vitrine_furnish_store(bigint);
ALTER FUNCTION vitrine_furnish_statuses(bigint) RENAME TO vitrine_furnish_store;
DROP TABLE call_requests, subscribers, blocks, pages, languages;
