/**
 * An answer of another shape than the one the call needs. The message is ours alone: it never quotes the
 * answer. Leaves this folder as `IamError` MalformedResponse.
 */
export class ShapeError extends Error {
  override readonly name = "ShapeError";
}
