/** The forms in which callers pass request headers. */
export type HeadersInput = ConstructorParameters<typeof Headers>[0];

/**
 * Whether headers are an object with their names and values. Not asked by `instanceof Headers`: to name it loads the
 * HTTP client inside Node, up to 40 ms and some megabytes of a process.
 */
export const isHeaderRecord = (given: HeadersInput | undefined): given is Record<string, string> =>
  given !== undefined && Object.getPrototypeOf(given) === Object.prototype;
