"""Join everything: the application, its middleware, the command line, the worker."""
