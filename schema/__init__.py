"""Define the GraphQL schema (types, inputs, scalars, pagination), validate documents, and derive the rows to read from them."""
