-- Undo 0002_stores. What vendors chose is lost.

DROP INDEX discussion_posts_rating_idx, discussion_posts_name_idx, discussion_posts_status_idx, vendors_email_idx, vendors_name_idx;
ALTER TABLE vendors DROP COLUMN shippings;
