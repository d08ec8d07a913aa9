/**
 * Large answers to the calls of a shared connection travel on connections of their own, one after the other on each, as
 * plain frames: HTTP would copy and cut each byte once more. The caller sends the preface, and for each answer the name
 * by which the server told it; the server sends a frame of the kind of answers in shared connections, with the status
 * and the headers, and then the frames of a stream in the Connect protocol, the last of which ends the answer.
 */
export const answerPreface = Buffer.from("ANSWER/1\n");

/** The length of an answer's name, which cannot be guessed. */
export const answerNameBytes = 36;
