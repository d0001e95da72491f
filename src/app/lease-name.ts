import { createHash } from "node:crypto";

/**
 * Operators that share the work by labels must not wait for each other's lease. The hash tells selectors apart that are the
 * same without their signs, such as `env=prod` and `env!=prod`. The chart makes the same name.
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
