import { graphql } from "relay-runtime";

export const query = graphql`
  query ProductsQuery($count: Int!, $cursor: String) {
    ...Products_list
  }
`;

// Without `edges { cursor }` and `page_info`, which relay-compiler adds.
export const list = graphql`
  fragment Products_list on Query @refetchable(queryName: "ProductsPaginationQuery") {
    product_connection(first: $count, after: $cursor, sort: NAME_ASC) @connection(key: "Products_product_connection") {
      edges {
        node {
          id
          name
          price_cents
        }
      }
    }
  }
`;
