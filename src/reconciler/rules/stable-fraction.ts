import { hash } from "node:crypto";

/** A number in [0, 1) that is always the same for the same text: spreads objects over time, unchanged by a restart. */
export function stableFraction(text: string): number {
  return Number.parseInt(hash("sha256", `${text}/`).slice(0, 8), 16) / 2 ** 32;
}
