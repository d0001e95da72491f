import { expect, test } from "vitest";
import { annotations } from "../../src/api/meta.ts";
import { inWorld } from "./support/in-world.ts";

test(
  "what is only planned changes nothing on a real API server, and is done by an operator that may",
  inWorld({ config: { readOnly: true } }, async (world) => {
    await world.serviceAccount("ci");
    await world.condition("ServiceAccount", "ci", "Stalled", "True", "PlanOnly");
    expect((await world.get("ServiceAccount", "ci")).metadata.finalizers).toBeUndefined();
    expect(world.iam.requests.count("createServiceAccount")).toBe(0);
    await world.operator?.stop();
    await world.start(undefined, { readOnly: false });
    await world.ready("ServiceAccount", "ci");
    await world.apiKey("key", {}, { annotations: { [annotations.planOnly]: "true" } });
    await world.condition("ApiKey", "key", "Stalled", "True", "PlanOnly");
    const { status, metadata } = await world.get("ApiKey", "key");
    expect(status?.plan?.calls.map(({ call }) => call)).toEqual(["issueKey", "writeSecret"]);
    expect(metadata.finalizers).toBeUndefined();
    expect(world.iam.requests.count("issueKey")).toBe(0);
    await world.annotate("ApiKey", "key", { [annotations.planOnly]: null });
    await world.ready("ApiKey", "key");
    expect((await world.get("ApiKey", "key")).status?.plan).toBeUndefined();
    expect(await world.holdsLivePair("key")).toBe(true);
  }),
);
