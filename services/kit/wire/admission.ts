/**
 * The headers by which a caller learns that an upload was admitted before it sends the upload's content: the caller
 * asks in its request, and the server answers with its headers when the handler takes the second message. A call that
 * is refused before that is answered without the second header.
 */
export const admissionHeaders = { asked: "x-announce-admission", announced: "x-admitted" } as const;
