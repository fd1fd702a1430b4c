DROP TABLE collection_products;
DROP TABLE collections;
DROP TABLE product_tags;
