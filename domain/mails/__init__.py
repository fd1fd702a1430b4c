"""Write to people: what the mails say, the queue they lie in, and how they leave it."""
