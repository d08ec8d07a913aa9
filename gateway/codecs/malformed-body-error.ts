/** A body that is not a document of its message: not well-formed, or a member of another type. */
export class MalformedBodyError extends Error {
  override readonly name = "MalformedBodyError";
}
