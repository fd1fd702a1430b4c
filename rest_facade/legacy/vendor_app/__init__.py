"""Be what the vendors' mobile app calls: sign-in, its own company, products and orders (decisions-legacy section 4)."""
