-- What stores and reviews are listed by in the legacy layer, and the shipping methods that a vendor chose.

ALTER TABLE vendors ADD COLUMN shippings jsonb NOT NULL DEFAULT '{}'
    CONSTRAINT vendors_shippings_object CHECK (jsonb_typeof(shippings) = 'object');
CREATE INDEX vendors_name_idx ON vendors (tenant_id, name, id) WHERE deleted_at IS NULL;
CREATE INDEX vendors_email_idx ON vendors (tenant_id, email, id) WHERE deleted_at IS NULL;

CREATE INDEX discussion_posts_status_idx ON discussion_posts (tenant_id, status, id);
CREATE INDEX discussion_posts_name_idx ON discussion_posts (tenant_id, name, id);
CREATE INDEX discussion_posts_rating_idx ON discussion_posts (tenant_id, coalesce(rating, 0), id);
