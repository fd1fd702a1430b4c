"""What the operator does with the whole database or a store: backup, move, deletion, checks."""
