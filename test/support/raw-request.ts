import { connect } from "node:net";
import { text } from "node:stream/consumers";

/** Sends bytes to a port of this machine and returns what comes until the connection is closed at the other end. */
export const sendRaw = async (port: number, bytes: string): Promise<string> => {
  const socket = connect({ port, host: "127.0.0.1" });
  socket.setEncoding("latin1").write(bytes, "latin1");
  try {
    return await text(socket);
  } finally {
    socket.destroy();
  }
};
