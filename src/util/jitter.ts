/**
 * `ms` times a factor between `least` and `most`, so that work that started together spreads out. `fraction`, in [0,
 * 1), selects the factor: 0 is the least.
 */
export function jittered(
  ms: number,
  { least, most }: { least: number; most: number },
  fraction: number,
): number {
  return ms * (least + (most - least) * fraction);
}
