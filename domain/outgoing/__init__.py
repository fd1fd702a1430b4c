"""Call addresses that a store or an app chose, and no others than the outside world's (decisions sections 7 and 10)."""
