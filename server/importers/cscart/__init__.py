"""Read a CS-Cart shop through its REST API and make the same shop here, with the same numbers (docs/moving-from-cs-cart.md)."""
