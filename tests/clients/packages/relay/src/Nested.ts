import { graphql } from "relay-runtime";

// Connections of records, of which each page is read by `node(id)`.
export const category = graphql`
  fragment Nested_category on Category @refetchable(queryName: "NestedCategoryQuery") {
    name
    children {
      name
    }
    products(first: $count, after: $cursor) @connection(key: "Nested_products") {
      edges {
        node {
          name
          main_image {
            ...Nested_image
          }
        }
      }
    }
  }
`;

export const account = graphql`
  fragment Nested_account on User @refetchable(queryName: "NestedAccountQuery") {
    addresses {
      ...Nested_address
    }
    orders(first: $count, after: $cursor) @connection(key: "Nested_orders") {
      edges {
        node {
          ...Nested_order
        }
      }
    }
  }
`;

export const image = graphql`
  fragment Nested_image on ImageRecord {
    url
    alt
  }
`;

export const address = graphql`
  fragment Nested_address on Address {
    street
    zipcode
  }
`;

export const order = graphql`
  fragment Nested_order on OrderRecord {
    id
    number
    shipping_address {
      ...Nested_address
    }
  }
`;

export const query = graphql`
  query NestedQuery($category: ID!, $order: ID!, $token: String, $count: Int!, $cursor: String) {
    category(id: $category) {
      ...Nested_category
    }
    me {
      ...Nested_account
    }
    placed_order(id: $order, token: $token) {
      ...Nested_order
    }
  }
`;
