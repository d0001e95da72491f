import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, inject } from "vitest";
import { kubeconfigPath } from "../../cluster/users.ts";
import { openRig, openRigOn, type Rig, type Servers } from "./rig.ts";

/** Servers of their own for the tests of a file, which change what the user `operator` may do, or need all of its memory. */
export function useRig(): () => Rig {
  return use(openRig);
}

/** Places on the control plane of all tests that need only namespaces of their own. */
export function useSharedRig(): () => Rig<Servers> {
  return use(() => {
    const plane = inject("controlPlane");
    const directory = mkdtempSync(join(tmpdir(), "iam-operator-rig-"));
    const kubeconfigFor = (user: string) => kubeconfigPath(dirname(plane.kubeconfig), user);
    return openRigOn({ ...plane, directory, kubeconfigFor }, async () =>
      rmSync(directory, { recursive: true }),
    );
  });
}

/** The first start on a machine builds the servers, hence the patience. */
function use<Any extends { close(): Promise<void> }>(open: () => Promise<Any>): () => Any {
  let rig: Any | undefined;
  beforeAll(async () => {
    rig = await open();
  }, 30 * 60_000);
  afterAll(() => rig?.close());
  return () => {
    if (rig === undefined) throw new Error("there is a rig only while tests run");
    return rig;
  };
}
