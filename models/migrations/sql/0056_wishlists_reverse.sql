-- Undo 0056_wishlists. The wishlists of customers are lost.
DROP TABLE wishlist_items;
