import * as z from "zod";

import { parseJson } from "../json/parse-json.ts";

/**
 * What the gateway says of a request whose service passes parts of it on, as a header next to the token. It is what the
 * client has chosen itself, without its credentials.
 */
const header = "x-quartet-user-request";

const shape = z.object({ base: z.string(), url: z.string(), headers: z.record(z.string(), z.string()) });

/** A request as it came to the gateway, and the address of the gateway itself. */
export type DescribedRequest = z.infer<typeof shape>;

/** The header of a call that describes the request. */
export const describedRequestHeaders = (request: DescribedRequest): Record<string, string> => ({
  [header]: Buffer.from(JSON.stringify(request)).toString("base64url"),
});

/** The description in the headers of a call; undefined: it has none. */
export const readDescribedRequest = (headers: Pick<Headers, "get">): DescribedRequest | undefined => {
  const text = headers.get(header);
  if (text === null) return undefined;
  try {
    return shape.parse(parseJson(Buffer.from(text, "base64url").toString()));
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof z.ZodError) return undefined;
    throw error;
  }
};
