/** The largest objects and answers that a tenant can make, for the process with the chart's memory. */
import { expect, test } from "vitest";
import { startSpoilingConsole } from "./support/attacks/console.ts";
import { type Attacker, attackedKinds, openAttacker } from "./support/attacks/objects.ts";
import { exportQuotas, HEAP_MIB, openScene, untilCutObjects } from "./support/attacks/scene.ts";
import { until } from "./support/until.ts";
import { useRig } from "./support/use-rig.ts";

const rig = useRig();
const MORE_THAN_THE_HEAP_MIB = 1.05 * HEAP_MIB;

test("a listing of quotas just under 8 MiB, with 64 amounts in each text, ends nobody's heap", async () => {
  const scene = await openScene(rig());
  const hostile = await startSpoilingConsole(scene.attacker.iam.url, "largest");
  const reasonOf = await exportQuotas(rig(), scene.attacker.namespace, hostile.url);
  await until("series to be left out", async () => (await reasonOf()) === "TooManySeries");
  const report = [await scene.withstands(), await scene.withstandsRestart()];
  await until("a metric of what is left out", async () =>
    /^iam_operator_resourcequota_export_omitted\{.*\} [1-9]/m.test(await scene.metrics()),
  );
  console.log(JSON.stringify({ attack: "listing of quotas", spoiled: hostile.spoiled, report }));
  hostile.close();
  await scene.close();
});

test("keys of 650 KB are refused; objects of every kind, filled in every field, more than the heap holds, end no leader", async () => {
  const scene = await openScene(rig());
  const attacker = await openAttacker(rig(), scene.attacker.namespace);
  const matchLabels = { ["k".repeat(650_000)]: "" };
  expect(await attacker.refusedOf({ rollout: { selector: { matchLabels } } })).toEqual([
    "spec.rollout.selector.matchLabels",
  ]);
  const { made, count } = await fillEveryField(attacker, MORE_THAN_THE_HEAP_MIB);
  console.log(JSON.stringify({ attack: "every field", made }));
  const report = [await scene.withstands(), await scene.withstandsRestart()];
  await untilCutObjects(scene, count);
  console.log(JSON.stringify({ attack: "every field", report }));
  await attacker.close();
  await scene.close();
});

async function fillEveryField(attacker: Attacker, mebibytes: number) {
  const made: object[] = [];
  let count = 0;
  for (const kind of attackedKinds) {
    const { molds, refused } = await attacker.fullest(kind, ["metadata", "spec"]);
    expect(refused).toEqual([]);
    const counts: number[] = [];
    // The others have only what excludes a field of the first one.
    for (const [n, mold] of molds.entries())
      counts.push(
        await attacker.create(mold, mebibytes / attackedKinds.length, n === 0 ? 1_000 : 3),
      );
    expect(counts[0]).toBeGreaterThan(10);
    count += counts[0] ?? 0;
    const fields = molds.map((mold) => mold.fields.length);
    made.push({ kind: kind.kind, fields, bytes: molds.map(({ bytes }) => bytes), counts });
  }
  return { made, count };
}
