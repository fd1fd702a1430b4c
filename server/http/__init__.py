"""HTTP: from the socket to a family's handler and back. `pipeline` is the order of the steps."""
