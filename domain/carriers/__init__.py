"""Sources of shipping rates besides a method's own table: carriers that are asked over the network (docs/shipping.md)."""
