/**
 * `ms` times a factor between `least` and `most`, so that what started together does not go on together.
 * `fraction`, in [0, 1), decides where between: 0 is the least.
 */
export function jittered(
  ms: number,
  { least, most }: { least: number; most: number },
  fraction: number,
): number {
  return ms * (least + (most - least) * fraction);
}
