"""Hold the browser side of the playground: its sources, and the program that builds them."""
