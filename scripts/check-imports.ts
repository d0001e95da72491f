/** Checks what the files below src/ import against scripts/import-rules.ts. */
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { LAYERS } from "./import-rules.ts";
import { judgeImports, readImports } from "./imports.ts";

const src = join(import.meta.dirname, "../src");
const files = globSync("**/*.ts", { cwd: src }).toSorted();
const imports = files.flatMap((file) => readImports(file, readFileSync(join(src, file), "utf8")));
for (const complaint of judgeImports(LAYERS, files, imports)) {
  console.log(complaint);
  process.exitCode = 1;
}
