/** A team with an account, two policies, a key and an export, and the plugin beside kubectl. */
import { inject } from "vitest";
import { openWorld } from "../../../real-world/in-world.ts";
import type { World } from "../../../real-world/world.ts";
import { Plugin } from "../../../unit/kubectl-iam/support/plugin.ts";

export const CI_BOT_POLICIES = {
  serviceAccountRef: { name: "ci-bot" },
  policyIds: ["pol-read", "pol-deploy"],
};

export interface Scene {
  readonly world: World;
  readonly plugin: Plugin;
  /** Searches all that was said for secrets, too. */
  close(): Promise<void>;
}

export async function openScene(): Promise<Scene> {
  const world = await openWorld();
  const plugin = await Plugin.install(inject("controlPlane").kubeconfig, world.namespace);
  await world.serviceAccount("ci-bot", { description: "Deploys team-a's applications" });
  await world.apply("PolicyBinding", "ci-bot", CI_BOT_POLICIES);
  const ref = { serviceAccountRef: { name: "ci-bot" } };
  await world.apiKey("ci-bot-key", ref, { labels: { team: "a" } });
  await world.apply("ResourceQuotaExport", "cluster-7", {
    connectionRef: { kind: "Connection", name: "console" },
    clusterId: 7,
  });
  await world.ready("ApiKey", "ci-bot-key");
  await world.ready("PolicyBinding", "ci-bot");
  await world.ready("ResourceQuotaExport", "cluster-7");
  const close = async () => {
    plugin.remove();
    await world.close();
  };
  return { world, plugin, close };
}
