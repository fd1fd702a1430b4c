// The addresses in the customer's account.

import { AddAddressDocument, type SavedAddressInput } from "../generated";
import { explained } from "./explained";
import { request } from "./requests";

export const addAddress = (input: SavedAddressInput) =>
  request(AddAddressDocument, { input }).catch(explained({ too_many_addresses: "Você já tem endereços demais. Exclua um antes." }));
