DROP TABLE cart_items;
DROP TABLE carts;
