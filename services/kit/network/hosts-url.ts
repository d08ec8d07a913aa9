/** The parts of a URL that may name several hosts: `scheme://host:port,host/path`. */
export interface HostsUrl {
  readonly scheme: string;
  /** At least one; without a port where the URL names none. */
  readonly hosts: readonly { readonly host: string; readonly port: number | undefined }[];
  /** Decoded, without its first slash. Empty if there is none. */
  readonly path: string;
}

const urlShape = /^(?<scheme>[a-z][a-z0-9+.-]*):\/\/(?<hosts>[^\s@/?#]+)(?:\/(?<path>[^\s@?#]*))?$/;
const hostShape = /^(?:\[(?<address>[0-9a-fA-F:]+)\]|(?<name>[^:[\]]+))(?::(?<port>[0-9]{1,5}))?$/;

/** Parses such a URL. Undefined if the text is not one, or has a user, a query or a fragment. */
export const parseHostsUrl = (text: string): HostsUrl | undefined => {
  const { scheme = "", hosts = "", path = "" } = urlShape.exec(text)?.groups ?? {};
  const parsed = hosts.split(",").map((host) => hostShape.exec(host)?.groups);
  if (parsed.some((host) => host === undefined || Number(host["port"] ?? 0) > 65_535)) return undefined;
  try {
    return {
      scheme,
      hosts: parsed.map((host) => ({
        host: host?.["address"] ?? host?.["name"] ?? "",
        port: host?.["port"] === undefined ? undefined : Number(host["port"]),
      })),
      path: decodeURIComponent(path),
    };
  } catch {
    return undefined;
  }
};
