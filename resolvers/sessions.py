"""Sign in and out (internal: the REST sign-in routes are the door)."""
