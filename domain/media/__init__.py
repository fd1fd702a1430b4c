"""Images and files of the store's own."""
