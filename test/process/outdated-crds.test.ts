/** An operator that is newer than the CRDs in the cluster. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parse, stringify } from "yaml";
import { ROOT } from "../real-world/program.ts";
import { until } from "../real-world/until.ts";
import { useServers } from "../real-world/use-servers.ts";

const CURRENT = join(ROOT, "crds/iam-operator.io_apikeys.yaml");

const servers = useServers();

test("without a field of its CRDs, the operator is not ready and changes nothing until they have it", async () => {
  const { kubectl } = servers();
  const world = await servers().openWorld();
  await withoutField(CURRENT, "lastAttemptId", (file) => kubectl(["replace", "-f", file]));
  const operator = await world.startProgram();
  await world.createAccounts(["ci"]);
  await world.createKeys([{ name: "one", account: "ci" }]);
  await until("the log to name the field", () =>
    operator.log().some(({ missing }) => `${missing}` === "ApiKey.status.lastAttemptId"),
  );
  const { status, text } = await operator.get("/readyz");
  expect([status, text]).toEqual([503, expect.stringContaining("ApiKey.status.lastAttemptId")]);
  expect(await operator.leads()).toBe(false);
  expect(world.iam.requests.all).toEqual([]);

  await kubectl(["replace", "-f", CURRENT]);
  await operator.untilReady();
  await world.ready("ApiKey", "one");
  await operator.stop();
});

/** Passes a file with the CRD as it was before it had a field of its status. */
async function withoutField(
  crdFile: string,
  field: string,
  use: (file: string) => Promise<unknown>,
): Promise<void> {
  const crd = parse(readFileSync(crdFile, "utf8"));
  const { status } = crd.spec.versions[0].schema.openAPIV3Schema.properties;
  expect(delete status.properties[field]).toBe(true);
  const directory = mkdtempSync(join(tmpdir(), "iam-operator-crds-"));
  try {
    const file = join(directory, "crd.yaml");
    writeFileSync(file, stringify(crd));
    await use(file);
  } finally {
    rmSync(directory, { recursive: true });
  }
}
