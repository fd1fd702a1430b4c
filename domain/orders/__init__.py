"""Place, change, move and end orders."""
