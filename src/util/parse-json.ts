/** The value of a JSON text; `undefined` if it is not JSON. Never throws: the parser's errors quote the text. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
