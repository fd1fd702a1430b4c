// The code of a static Pix payment ("Pix copia e cola"): BR Code, the EMV QR code of Banco Central's "Manual de Padrões para Iniciação
// do Pix". In a real shop the server creates a charge at the payment gateway and shows the gateway's code, which expires and is
// confirmed by itself; this shop has no server, so it makes one with a key that does not exist.

const KEY = "loja@example.com";
const CITY = "SAO PAULO";
const NAME_LENGTH = 25;
const REFERENCE_LENGTH = 25;

const field = (id: string, value: string): string => id + String(value.length).padStart(2, "0") + value;

/** Fold a text to the characters that every bank accepts. */
const fold = (text: string): string => text.normalize("NFD").replace(/[^A-Za-z0-9 ]/g, "");

/** CRC-16/CCITT-FALSE, the checksum at the end of the code. */
export function crc16(text: string): string {
  let crc = 0xffff;
  for (const character of text) {
    crc ^= character.charCodeAt(0) << 8;
    for (let bit = 0; bit < 8; bit++) crc = crc & 0x8000 ? (crc << 1) ^ 0x1021 : crc << 1;
  }
  return (crc & 0xffff).toString(16).toUpperCase().padStart(4, "0");
}

/** Return the code for an amount in cents of reais, to a store, for an order. */
export function pixCode(cents: number, store: string, reference: string): string {
  const code =
    field("00", "01") +
    field("26", field("00", "br.gov.bcb.pix") + field("01", KEY)) +
    field("52", "0000") +
    field("53", "986") +
    field("54", (cents / 100).toFixed(2)) +
    field("58", "BR") +
    field("59", fold(store).slice(0, NAME_LENGTH)) +
    field("60", CITY) +
    field("62", field("05", fold(reference).slice(0, REFERENCE_LENGTH))) +
    "6304";
  return code + crc16(code);
}
