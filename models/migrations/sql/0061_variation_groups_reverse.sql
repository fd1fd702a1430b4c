DROP TABLE variation_group_products;
DROP TABLE variation_group_features;
DROP TABLE variation_groups;
