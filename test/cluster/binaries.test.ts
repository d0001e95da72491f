import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test, vi } from "vitest";
import { findBinaries } from "./binaries.ts";

const folder = mkdtempSync(join(tmpdir(), "iam-operator-assets-"));
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true, force: true });
});

/** Programs that say no more than their version, as an archive of envtest has them. */
function provide(version: string, ...names: readonly string[]): string {
  mkdirSync(folder, { recursive: true });
  for (const name of names) {
    const text = `#!/bin/sh\necho Kubernetes ${version}\n`;
    writeFileSync(join(folder, name), text, { mode: 0o755 });
  }
  vi.stubEnv("KUBEBUILDER_ASSETS", folder);
  return folder;
}

const envtest = ["etcd", "kube-apiserver", "kubectl"];

test.each(["v1.32.0", "v1.36.3", "v1.40.1"])(
  "an archive of envtest, without a controller manager, is a minimal set at %s",
  async (version) => {
    const assets = provide(version, ...envtest);
    expect(await findBinaries(() => undefined, { minimal: true })).toEqual({
      etcd: join(assets, "etcd"),
      apiServer: join(assets, "kube-apiserver"),
      kubectl: join(assets, "kubectl"),
    });
  },
);

test.each([
  ["", "v1.36.0"],
  ["oldest", "v1.32.2"],
])(
  "a whole set for TEST_KUBERNETES=%s is %s and has the controller manager too",
  async (wanted, version) => {
    vi.stubEnv("TEST_KUBERNETES", wanted);
    const assets = provide(version, ...envtest, "kube-controller-manager");
    const { controllerManager } = await findBinaries(() => undefined);
    expect(controllerManager).toBe(join(assets, "kube-controller-manager"));
  },
);

test.each([
  ["of a version that is too old", "v1.31.9", envtest, true],
  [
    "of another version than the tested one",
    "v1.35.0",
    [...envtest, "kube-controller-manager"],
    false,
  ],
  ["without a controller manager", "v1.36.0", envtest, false],
])("a set %s is not used, and the reason is given", async (_, version, names, minimal) => {
  provide(version, ...names);
  // What else there is does not matter here: nothing on PATH, and no cache to look into but an unwritable one.
  vi.stubEnv("PATH", "");
  vi.stubEnv("XDG_CACHE_HOME", "/dev/null");
  const said: string[] = [];
  await expect(findBinaries((line) => said.push(line), { minimal })).rejects.toThrow();
  expect(said[0]).toMatch(/^KUBEBUILDER_ASSETS .* is not used: it needs etcd, kube-apiserver v1/);
});
