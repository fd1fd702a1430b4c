"""Define the GraphQL vocabulary: types, inputs, scalars, and how documents become rows."""
