ALTER TABLE user_addresses DROP COLUMN lastname;
