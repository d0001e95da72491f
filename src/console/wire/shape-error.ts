/**
 * The answer does not have the shape that the call requires. The message never quotes the answer. Callers get it as an
 * `IamError` MalformedResponse.
 */
export class ShapeError extends Error {
  override readonly name = "ShapeError";
}
