-- Undo 0075_hidden_pages: hidden pages are disabled, for lists would show them.
UPDATE pages SET status = 'D' WHERE hidden;
ALTER TABLE pages DROP COLUMN hidden;
