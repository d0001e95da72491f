/** A world at rest: each kind has several objects, and their statuses have almost every field. */
import { FINALIZER } from "../../../src/api/meta.ts";
import type { ResourceType } from "../../../src/kube/resource.ts";
import { secretType } from "../../../src/kube/resource-types.ts";
import {
  apiKeyType,
  clusterConnectionType,
  connectionType,
  policyBindingType,
  resourceQuotaExportType,
  serviceAccountType,
} from "../../../src/resources/resource-types.ts";
import { MINUTE } from "../../../src/util/time.ts";
import type { Tree } from "../../api-server/tree.ts";
import { DEFAULT_CREDENTIALS, SEEDED } from "../../iam-server/seed.ts";
import { extraCalls } from "../scenarios/console.ts";
import { ACCOUNT, createBinding, createKey, DEPLOY, inNamespace } from "../scenarios.ts";
import { connectionSpec } from "../sim-world.ts";
import { createInConsole, granting } from "../stories/in-console.ts";
import type { StoryWorld } from "../stories/story.ts";

export interface Place {
  readonly type: ResourceType;
  readonly name: string;
}

const at = (type: ResourceType, name: string): Place => ({ type, name });

/** Objects that are deleted together. `claimant` imports an account that another object has. */
export const groups = {
  created: [
    at(apiKeyType, "ci"),
    at(policyBindingType, "reader"),
    at(resourceQuotaExportType, "quotas"),
    at(serviceAccountType, ACCOUNT),
  ],
  imported: [
    at(apiKeyType, "second"),
    at(policyBindingType, "second"),
    at(serviceAccountType, "imported"),
  ],
  elsewhere: [
    at(apiKeyType, "theirs"),
    at(policyBindingType, "theirs"),
    at(resourceQuotaExportType, "theirs"),
    at(serviceAccountType, "elsewhere"),
  ],
  claimant: [at(serviceAccountType, "claimant")],
  connections: [at(clusterConnectionType, "default"), at(connectionType, "own")],
} satisfies Record<string, readonly Place[]>;

export type Group = keyof typeof groups;

const { clusterId, otherClusterId, otherOrgId } = SEEDED;
const OTHER = { username: "other", password: DEFAULT_CREDENTIALS.password, domain: "acme" };
const OTHER_POLICY = "pol-other";
/** Superseded keys are revoked at the end. */
const rotation = { overlap: "30m" };

export async function converge(world: StoryWorld): Promise<void> {
  for (const cluster of world.sim.console.world.clusters.values())
    cluster.quotas = cluster.quotas.slice(0, 2);
  const { saId } = createInConsole(world);
  const importing = granting({ importServiceAccounts: true, quotaExports: [clusterId] });
  await world.begin({ connection: { extraCalls, ...importing }, key: { rotation } });
  create(world, resourceQuotaExportType, "quotas", { clusterId });
  create(world, serviceAccountType, "imported", { saId, deletionPolicy: "Revoke" });
  await world.pass(MINUTE / 2);
  create(world, serviceAccountType, "claimant", { saId, deletionPolicy: "Revoke" });
  // One key is lost on the way.
  world.fault("issueKey", { kind: "Reset", when: "AfterCommit" });
  createUsers(world, "second", "imported", DEPLOY);
  await world.pass(3 * MINUTE);
  restoreClaimant(world, saId);
  createElsewhere(world);
  await world.pass(MINUTE);
  world.rotate("one");
  world.rotate("one", "theirs");
  await world.pass(MINUTE);
}

/** As from a backup of when it had the account. */
function restoreClaimant({ sim }: StoryWorld, saId: string): void {
  const { tpn } = sim.console.world.accounts.get(saId) ?? {};
  const status = { saId, tpn, consoleURL: connectionSpec.baseURL };
  sim.patch(serviceAccountType, "claimant", { metadata: { finalizers: [FINALIZER] } });
  sim.meddle(() => sim.patch(serviceAccountType, "claimant", { status }, "status"));
}

/** Of another organization, by a Connection. */
function createElsewhere(world: StoryWorld): void {
  openOrganization(world);
  const metadata = inNamespace("login");
  world.sim.create(secretType, { metadata, stringData: OTHER });
  const { grants: _, ...spec } = connectionSpec;
  create(world, connectionType, "own", {
    ...spec,
    orgId: otherOrgId,
    domainId: otherOrgId,
    projectId: "prj-9",
    credentials: { login: { secretRef: { name: "login" } } },
    extraCalls,
  });
  const connectionRef = { kind: "Connection", name: "own" };
  create(world, serviceAccountType, "elsewhere", { connectionRef });
  create(world, resourceQuotaExportType, "theirs", { connectionRef, clusterId: otherClusterId });
  createUsers(world, "theirs", "elsewhere", OTHER_POLICY);
}

/** A user of the other organization, and a policy that allows everything in it. */
function openOrganization({ sim }: StoryWorld): void {
  const { world } = sim.console;
  const admin = world.policies.get("pol-p1-admin");
  if (admin === undefined) throw new Error("the policy is not seeded");
  const Resource = [`trn:*:*:${otherOrgId}:*:*:*/*`];
  const statements = admin.statements.map((each) => ({ ...each, Resource }));
  world.putPolicy({ ...admin, policyId: OTHER_POLICY, orgId: otherOrgId, statements });
  world.addUser({ ...OTHER, orgId: otherOrgId, policyIds: [OTHER_POLICY] });
}

function create(world: StoryWorld, type: ResourceType, name: string, spec: Tree): void {
  world.sim.create(type, { metadata: inNamespace(name), spec });
}

/** An ApiKey of the account, and a PolicyBinding. */
function createUsers(world: StoryWorld, name: string, account: string, policyId: string): void {
  const serviceAccountRef = { name: account };
  createBinding(world.sim, name, [policyId], { serviceAccountRef });
  createKey(world.sim, name, { serviceAccountRef, rotation });
}
