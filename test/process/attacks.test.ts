/** The largest answer of a tenant's console, for the process with the chart's memory; attacks.long.test.ts has the others. */
import { test } from "vitest";
import { until } from "../real-world/until.ts";
import { useServers } from "../real-world/use-servers.ts";
import { startSpoilingConsole } from "./support/attacks/console.ts";
import { exportQuotas, openScene } from "./support/attacks/scene.ts";

const servers = useServers();

test("a listing of quotas just under 8 MiB, with 64 amounts in each text, ends nobody's heap", async () => {
  const scene = await openScene(servers());
  const hostile = await startSpoilingConsole(scene.attacker.iam.url, "largest");
  const reasonOf = await exportQuotas(scene.attacker, hostile.url);
  await until("series to be left out", async () => (await reasonOf()) === "TooManySeries");
  const report = [await scene.withstands(), await scene.withstandsRestart()];
  await until("a metric of what is left out", async () =>
    /^iam_operator_resourcequota_export_omitted\{.*\} [1-9]/m.test(await scene.metrics()),
  );
  console.log(JSON.stringify({ attack: "listing of quotas", spoiled: hostile.spoiled, report }));
  await scene.close();
});
