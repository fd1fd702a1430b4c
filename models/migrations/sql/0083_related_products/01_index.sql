-- Its columns lead products_newest_of_category_idx.
DROP INDEX products_category_idx;
