-- An active page that lists leave out, and that opens by its id or slug.
ALTER TABLE pages ADD COLUMN hidden boolean NOT NULL DEFAULT false;
