/** A request to a service, before it is signed. */
export interface ServiceRequest {
  /** Unset: POST. */
  readonly method?: string;
  /** After the base address. Unset: "/". */
  readonly path?: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** A call of an API that names its operation in a header. Members that are undefined are left out. */
export const targetCall = (operation: string, version: "1.0" | "1.1", members: object): ServiceRequest => ({
  headers: { "content-type": `application/x-amz-json-${version}`, "x-amz-target": operation },
  body: JSON.stringify(members),
});

/** A call of an API that names its operation by method and path. */
export const restCall = (path: string, members: object, method: "POST" | "PUT" = "POST"): ServiceRequest => ({
  method,
  path,
  headers: { "content-type": "application/json" },
  body: JSON.stringify(members),
});

/** A call of an API that takes a form. */
export const formCall = (members: Readonly<Record<string, string | undefined>>): ServiceRequest => ({
  headers: { "content-type": "application/x-www-form-urlencoded; charset=utf-8" },
  body: new URLSearchParams(
    Object.entries(members).filter((entry): entry is [string, string] => entry[1] !== undefined),
  ).toString(),
});
