/** What many measured values come to. */

/** The least value that so large a share of all does not exceed; NaN without any. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? Number.NaN;
}

/** Of the line with the least squares: how much y grows with x. */
export function slope(points: readonly (readonly [x: number, y: number])[]): number {
  const mean = (numbers: readonly number[]) => numbers.reduce((a, b) => a + b, 0) / numbers.length;
  const [meanX, meanY] = [mean(points.map(([x]) => x)), mean(points.map(([, y]) => y))];
  const products = points.map(([x, y]) => (x - meanX) * (y - meanY));
  return mean(products) / mean(points.map(([x]) => (x - meanX) ** 2));
}

export function rounded(value: number): number {
  return Math.round(value * 100) / 100;
}
