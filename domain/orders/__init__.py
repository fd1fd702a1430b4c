"""Orders once they are placed: change their status, move and end them, record payments and shipments."""
