import { globSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { expect, test } from "vitest";

const root = join(import.meta.dirname, "../../..");

test("the bundle has everything that the sources take of undici", () => {
  const parts = createRequire(import.meta.url)(join(root, "scripts/undici-parts.cjs"));
  const taken = globSync("src/**/*.ts", { cwd: root }).flatMap((file) => {
    const source = readFileSync(join(root, file), "utf8");
    const lists = source.matchAll(/^import \{([^}]*)\} from "undici";/gm);
    return [...lists].flatMap(([, list = ""]) => list.split(","));
  });
  const values = taken
    .map((name) => name.trim())
    .filter((name) => name !== "" && !/^type /.test(name));
  expect(values).toContain("ProxyAgent");
  expect(values.filter((name) => !(name in parts))).toEqual([]);
});
