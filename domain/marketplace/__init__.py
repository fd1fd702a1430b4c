"""Keep vendors and what buyers say."""
