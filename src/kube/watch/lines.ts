/** Splits a stream of bytes into lines. */

const NEWLINE = 0x0a;

/** A line exceeds the limit, which bounds the buffer. */
export class LineTooLong extends Error {
  override readonly name = "LineTooLong";
}

/** The stream ended within a line. All lines before it are complete. */
export class LineTruncated extends Error {
  override readonly name = "LineTruncated";
}

/**
 * Yields each line without its newline; skips blank lines. The parts of a line are joined only once it is complete:
 * joining them at every chunk would take time quadratic in the length of the line.
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
