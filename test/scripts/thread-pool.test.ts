/** What may use the thread pool is told in docs/architecture.md, with why no tenant can fill it. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const root = join(import.meta.dirname, "../..");
const POOL = /from "node:(?:fs|fs\/promises|dns|dns\/promises|zlib)"/;

test("docs/architecture.md names every file that can use the thread pool", () => {
  const files = readdirSync(join(root, "src"), { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".ts") && !file.startsWith("kubectl-iam/"))
    .filter((file) => POOL.test(readFileSync(join(root, "src", file), "utf8")));
  const page = readFileSync(join(root, "docs/architecture.md"), "utf8");
  const named = [...page.matchAll(/`src\/([^`]+)`(?=[^\n]*\|$)/gm)].map(([, file]) => file);
  expect(files.filter((file) => !named.includes(file))).toEqual([]);
});

test("keys and hashes are made without the thread pool", () => {
  const callbacks =
    /\b(?:pbkdf2|scrypt|hkdf|generateKeyPair|randomFill|randomBytes)\((?:[^()]|\([^()]*\))*=>/;
  const files = readdirSync(join(root, "src"), { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".ts"))
    .filter((file) => callbacks.test(readFileSync(join(root, "src", file), "utf8")));
  expect(files).toEqual([]);
});
