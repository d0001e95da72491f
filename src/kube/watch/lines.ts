/** Splits a stream of bytes into lines. */

const NEWLINE = 0x0a;

/** A line is longer than it may be: nobody buffers without bound. */
export class LineTooLong extends Error {
  override readonly name = "LineTooLong";
}

/** The stream ended within a line. What was delivered before is whole. */
export class LineTruncated extends Error {
  override readonly name = "LineTruncated";
}

/**
 * Yields each line without its newline, blank ones left out. Parts of a line are kept apart until it is whole:
 * joining them at every chunk would cost the square of a long line's length.
 */
export async function* splitLines(
  chunks: AsyncIterable<Uint8Array>,
  maxBytes: number,
): AsyncGenerator<string> {
  let parts: Uint8Array[] = [];
  let length = 0;
  const keep = (part: Uint8Array) => {
    length += part.length;
    if (length > maxBytes) throw new LineTooLong(`a line has more than ${maxBytes} bytes`);
    parts.push(part);
  };
  for await (const chunk of chunks) {
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
      keep(chunk.subarray(start, end));
      const line = decode(parts);
      start = end + 1;
      parts = [];
      length = 0;
      if (line !== "") yield line;
    }
    if (start < chunk.length) keep(chunk.subarray(start));
  }
  if (length > 0) throw new LineTruncated("the stream ended within a line");
}

function decode(parts: readonly Uint8Array[]): string {
  const whole = parts.length === 1 && parts[0] !== undefined ? parts[0] : Buffer.concat(parts);
  return Buffer.from(whole.buffer, whole.byteOffset, whole.byteLength).toString("utf8").trim();
}
