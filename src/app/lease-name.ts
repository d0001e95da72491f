import { createHash } from "node:crypto";

/**
 * Operators with different selectors must not wait for each other's lease. The hash distinguishes selectors that differ
 * only in punctuation, such as `env=prod` and `env!=prod`. The chart computes the same name.
 */
export function leaseName(selector: string): string {
  if (selector === "") return "iam-operator";
  const words = selector
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .slice(0, 180)
    .replace(/^-|-$/g, "");
  const hash = createHash("sha256").update(selector).digest("hex").slice(0, 8);
  return ["iam-operator", words, hash].filter((part) => part !== "").join("-");
}
