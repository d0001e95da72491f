/** Operators with disjoint selectors: one of them alone replaces the policies of an account, whoever labelled what. */
import { expect, test } from "vitest";
import { inWorld } from "../../real-world/in-world.ts";

const config = { selector: "shard=a" };
const ofShard = (shard: string) => ({ metadata: { labels: { shard } } });
const binding = (policyId: string) => ({
  serviceAccountRef: { name: "ci" },
  policyIds: [policyId],
});

test(
  "what refers to a ServiceAccount is worked on by the operator that the ServiceAccount's labels choose",
  inWorld({ bare: true, config }, async (world) => {
    await world.connect();
    await world.start();
    const syncs = () => world.iam.requests.count("syncBindings");
    await world.serviceAccount("ci");
    await world.patch("ServiceAccount", "ci", ofShard("a"));
    await world.ready("ServiceAccount", "ci");
    await world.apply("PolicyBinding", "read", binding("pol-read"));
    await world.patch("PolicyBinding", "read", ofShard("b"));
    await world.ready("PolicyBinding", "read");
    await world.manager?.stop();
    const before = syncs();

    config.selector = "shard=b";
    const other = await world.start();
    await world.apply("PolicyBinding", "deploy", binding("pol-deploy"));
    await world.apiKey("key");
    await world.patch("ApiKey", "key", ofShard("b"));
    for (const controller of ["PolicyBinding", "ApiKey"])
      await world.until(`a run over a ${controller}`, async () =>
        new RegExp(`reconcile_total\\{[^}]*controller="${controller}"[^}]*\\} [1-9]`).test(
          await other.metrics(),
        ),
      );
    await world.ready("Connection", "console");
    expect([syncs(), world.iam.requests.count("issueKey")]).toEqual([before, 0]);
    await other.stop();

    config.selector = "shard=a";
    await world.start();
    await world.ready("PolicyBinding", "deploy");
    await world.ready("ApiKey", "key");
  }),
);
