"""Show which apps a store has installed and which keys its storefronts have; `auth` gives and takes them."""
