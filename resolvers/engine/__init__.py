"""Execute GraphQL operations: prepare documents, compile them, run them and complete their answers; the executor is the reference."""
