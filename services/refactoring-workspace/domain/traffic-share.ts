/** A route as far as its share counts. */
export interface SharedRoute {
  /** 0 to 99 in percent; undefined: it takes the requests of all clients. */
  readonly trafficPercentage?: number | undefined;
}

/**
 * Whether a client, by the network of its address, is among those whose requests a route takes. The same clients are in
 * the shares of all routes of an application, a smaller one within a larger.
 */
export const isInShare = ({ trafficPercentage }: SharedRoute, applicationId: string, network: string): boolean =>
  trafficPercentage === undefined ||
  (trafficPercentage > 0 && hundredthOf(`${applicationId} ${network}`) < trafficPercentage);

/** A number from 0 to 99 that is the same for the same text: FNV-1a of 32 bits, mixed so that the low bits count. */
const hundredthOf = (text: string): number => {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index += 1) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return ((hash ^ (hash >>> 16)) >>> 0) % 100;
};
