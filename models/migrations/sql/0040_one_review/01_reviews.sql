-- One review per customer and product. Posts from before and imported ones keep the column false, for there a customer may have several;
-- only those written from now on are unique. The index holds none of the existing rows, so that it is made by one scan of the table.
ALTER TABLE discussion_posts ADD COLUMN one_per_user boolean NOT NULL DEFAULT false;
CREATE UNIQUE INDEX discussion_posts_one_per_user_key ON discussion_posts (tenant_id, thread_id, user_id) WHERE one_per_user;
