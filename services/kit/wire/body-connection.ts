/**
 * The content of a large upload travels on a connection of its own, as plain frames: HTTP copies each byte once more
 * and cuts the content at the bounds of its chunks. The call names the connection in a header, and its own body has the
 * first message only. The connection begins with the preface and the name; then come the frames of the further messages
 * and, when all were sent, an empty one with the flag of the end. Without that end the upload is not whole.
 */
export const bodyPreface = Buffer.from("BODY/1\n");

/** Names the connection that carries the further messages of a call. */
export const bodyHeader = "x-body-connection";

/** The length of a connection's name, which cannot be guessed. */
export const bodyNameBytes = 36;

/** Content of a smaller known size is sent with its call, because a connection costs as much as some 100 KiB. */
export const bodyBytesMin = 1024 * 1024;

/** The most content in one frame. */
export const bodyFrameBytesMax = 1024 * 1024;
