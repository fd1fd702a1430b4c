"""Put carts together, add them up, and make orders of them."""
