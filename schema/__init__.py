"""Define the GraphQL schema (types, inputs, scalars, pagination), and derive the rows to read from documents."""
