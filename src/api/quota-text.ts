/** Parses the amounts in a quota's display text, such as `cpu: 500m/2, memory: 1Gi/4Gi`. Pure. */

export interface Amount {
  readonly resource: string;
  /** In base units: cores, bytes, or a number of objects. */
  readonly used: number;
  readonly hard: number;
}

const MAX_TEXT = 4_096;
const MAX_AMOUNTS = 64;
const RESOURCE = /^[A-Za-z0-9](?:[-A-Za-z0-9_./]{0,251}[A-Za-z0-9])?$/;
const QUANTITY =
  /^(\d{1,18}(?:\.\d{0,18})?|\.\d{1,18})(?:([numkMGTPE]|[KMGTPE]i)|[eE]([+-]?\d{1,2}))?$/;

const FACTORS: ReadonlyMap<string, number> = new Map([
  ["n", 1e-9],
  ["u", 1e-6],
  ["m", 1e-3],
  ["k", 1e3],
  ["M", 1e6],
  ["G", 1e9],
  ["T", 1e12],
  ["P", 1e15],
  ["E", 1e18],
  ["Ki", 2 ** 10],
  ["Mi", 2 ** 20],
  ["Gi", 2 ** 30],
  ["Ti", 2 ** 40],
  ["Pi", 2 ** 50],
  ["Ei", 2 ** 60],
]);

/**
 * Returns all amounts of the text, or `undefined` if any part cannot be parsed, because a partial result would be
 * wrong. An empty text has no amounts.
 */
export function parseQuotaText(text: string): readonly Amount[] | undefined {
  if (text.length > MAX_TEXT) return undefined;
  if (text.trim() === "") return [];
  const parts = text.split(",");
  if (parts.length > MAX_AMOUNTS) return undefined;
  const amounts = parts.flatMap((part) => parseAmount(part) ?? []);
  const names = new Set(amounts.map(({ resource }) => resource));
  return names.size === parts.length ? amounts : undefined;
}

/** Parses a Kubernetes quantity into base units; `undefined` if the text is not a quantity. Never negative. */
export function parseQuantity(text: string): number | undefined {
  const [, digits, suffix, exponent] = QUANTITY.exec(text) ?? [];
  if (digits === undefined) return undefined;
  // Scaled so that the result is exact: 500m is 0.5.
  if (exponent !== undefined) return Number(`${digits}e${exponent}`);
  const factor = suffix === undefined ? 1 : FACTORS.get(suffix);
  if (factor === undefined) return undefined;
  return factor < 1 ? Number(digits) / Math.round(1 / factor) : Number(digits) * factor;
}

function parseAmount(part: string): Amount | undefined {
  const colon = part.indexOf(":");
  const slash = part.indexOf("/", colon + 1);
  if (colon < 0 || slash < 0) return undefined;
  const resource = part.slice(0, colon).trim();
  if (!RESOURCE.test(resource)) return undefined;
  const used = parseQuantity(part.slice(colon + 1, slash).trim());
  const hard = parseQuantity(part.slice(slash + 1).trim());
  return used === undefined || hard === undefined ? undefined : { resource, used, hard };
}
