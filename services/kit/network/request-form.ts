/** A name, an IPv4 address or an IPv6 address in brackets, or nothing; then perhaps a port (RFC 9110 section 7.2). */
const hostForm = /^(?:\[[0-9A-Fa-f:.]+\]|[\w.~!$&'()*+,;=%-]*)(?::\d{0,5})?$/;

/** Whether a text can be the Host header of a request. */
export const isHost = (text: string): boolean => hostForm.test(text);

/** The port of a host; undefined if it has none. */
export const portOf = (host: string): number | undefined => {
  const port = /:(\d{1,5})$/.exec(host)?.[1];
  return port === undefined ? undefined : Number(port);
};

/**
 * Whether the transfer codings of a body are others than chunked alone. The platform removes that one, and loses the
 * names of the rest.
 */
export const hasOtherCoding = (codings: string | undefined): boolean =>
  codings !== undefined && codings.trim().toLowerCase() !== "chunked";
