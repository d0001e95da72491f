/** Reads the troubleshooting page: beside the bundle in a release, in the docs of a checkout. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";

const PAGE = "troubleshooting.md";

export async function readTroubleshootingPage(): Promise<string> {
  const beside = join(import.meta.dirname, PAGE);
  const inCheckout = join(import.meta.dirname, "../../docs", PAGE);
  return readFile(beside, "utf8").catch(() => readFile(inCheckout, "utf8"));
}
