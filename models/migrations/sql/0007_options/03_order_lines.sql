-- Lines of orders know what was chosen, and the combination whose stock they hold.

ALTER TABLE order_lines
    ADD COLUMN combination_id bigint,
    ADD COLUMN options jsonb NOT NULL DEFAULT '[]'
        CONSTRAINT order_lines_options_array CHECK (jsonb_typeof(options) = 'array'),
    ADD CONSTRAINT order_lines_combination_fkey FOREIGN KEY (tenant_id, combination_id)
        REFERENCES combinations (tenant_id, id) ON DELETE RESTRICT;
CREATE INDEX order_lines_combination_idx ON order_lines (tenant_id, combination_id) WHERE combination_id IS NOT NULL;
