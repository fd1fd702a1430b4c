"""The client generators for TypeScript that the tests run, installed by `install`."""
