/** Text from bytes that a person has written with any editor. */

export type DecodedText =
  | { readonly ok: true; readonly text: string }
  /** `found` completes "needs UTF-8 text, not …", and quotes nothing of the content. */
  | { readonly ok: false; readonly found: string };

const MARKS: readonly (readonly [string, readonly number[]])[] = [
  ["UTF-32LE", [0xff, 0xfe, 0, 0]],
  ["UTF-32BE", [0, 0, 0xfe, 0xff]],
  ["UTF-16LE", [0xff, 0xfe]],
  ["UTF-16BE", [0xfe, 0xff]],
];

/** Strict: never replaces bytes. A byte order mark of UTF-8 is dropped. */
export function decodeUtf8(bytes: Uint8Array): DecodedText {
  const found = otherEncoding(bytes);
  if (found !== undefined) return { ok: false, found };
  try {
    return { ok: true, text: new TextDecoder("utf-8", { fatal: true }).decode(bytes) };
  } catch {
    return { ok: false, found: "another encoding, such as Latin-1, or binary data" };
  }
}

function otherEncoding(bytes: Uint8Array): string | undefined {
  const mark = MARKS.find(([, start]) => start.every((byte, index) => bytes[index] === byte));
  if (mark !== undefined) return mark[0];
  if (!bytes.includes(0)) return undefined;
  // ASCII in UTF-16 without a byte order mark: every second byte is NUL, and no other.
  const isEvery = (parity: number) =>
    bytes.every((byte, index) => (byte === 0) === (index % 2 === parity));
  if (isEvery(1)) return "UTF-16LE";
  return isEvery(0) ? "UTF-16BE" : "text with NUL bytes";
}
