-- Where the last name begins in the name of an address, for programs that have two fields of it. The name stays the whole one.
ALTER TABLE user_addresses ADD COLUMN lastname text NOT NULL DEFAULT '';
