"""Hold what happens to every request before and after its handler; `pipeline` says in which order."""
