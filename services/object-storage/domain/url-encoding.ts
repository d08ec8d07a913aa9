/** Bytes that stand for themselves in listings with encoding-type `url`: the slash stays readable. */
const plainCharacter = /[A-Za-z0-9\-_.~*/]/;

/** Percent-encodes a key or prefix for a listing, byte by byte of its UTF-8; a space becomes a plus sign. */
export const encodeListed = (text: string): string => {
  let encoded = "";
  for (const byte of Buffer.from(text)) {
    const character = String.fromCharCode(byte);
    if (plainCharacter.test(character)) encoded += character;
    else if (character === " ") encoded += "+";
    else encoded += `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
  }
  return encoded;
};

/** What a listing does to names: nothing, or percent-encoding. */
export const listedText = (encodingType: string | undefined): ((text: string) => string) =>
  encodingType === "url" ? encodeListed : (text) => text;
