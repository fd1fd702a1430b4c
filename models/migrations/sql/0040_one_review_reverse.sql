DROP INDEX discussion_posts_one_per_user_key;
ALTER TABLE discussion_posts DROP COLUMN one_per_user;
