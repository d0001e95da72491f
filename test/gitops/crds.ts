/** CRDs of other projects, which the sources of their Go modules have. */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { vi } from "vitest";
import type { Kubectl } from "../../scripts/demo/kubectl.ts";

/** Applies the CRDs in folders or files of a module, and waits until they are served. */
export async function applyCrds(
  kubectl: Kubectl,
  module: string,
  ...paths: readonly string[]
): Promise<void> {
  const source = await sourceOf(module);
  const files = paths.flatMap((path) => ["-f", join(source, path)]);
  await kubectl(["apply", "--server-side", ...files]);
  // kubectl takes a CRD that has no conditions yet for a mistake.
  const served = () => kubectl(["wait", "--for=condition=Established", ...files, "--timeout=30s"]);
  await vi.waitFor(served, { timeout: 60_000, interval: 200 });
}

/** The folder of a module's sources, which is read-only. */
export async function sourceOf(module: string): Promise<string> {
  const { stdout } = await promisify(execFile)("go", ["mod", "download", "-json", module], {
    cwd: import.meta.dirname,
    env: { ...process.env, GOWORK: "off", GOFLAGS: "" },
  });
  return JSON.parse(stdout).Dir;
}
