/** kubectl and the plugin, as they would be on PATH. */
import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** A folder for PATH. The plugin runs from the sources, with this Node. */
export function linkPrograms(directory: string, root: string, kubectl: string): string {
  const bin = join(directory, "bin");
  mkdirSync(bin);
  symlinkSync(kubectl, join(bin, "kubectl"));
  const plugin = join(bin, "kubectl-iam");
  const main = join(root, "src/kubectl-iam/main.ts");
  writeFileSync(plugin, `#!/bin/sh\nexec '${process.execPath}' '${main}' "$@"\n`);
  chmodSync(plugin, 0o755);
  return bin;
}
