import { seedCatalogue } from "./seed-catalogue.ts";
import type { CatalogAction, Instance, Policy, Quota, World } from "./world.ts";

/** The login which {@link seed} creates. */
export interface Credentials {
  readonly username: string;
  readonly password: string;
  readonly domain: string;
}

export const DEFAULT_CREDENTIALS: Credentials = {
  username: "operator",
  password: "operator-password",
  domain: "acme",
};

/** Names which the seeded world uses. */
export const SEEDED = {
  orgId: "org-1",
  orgName: "acme",
  projectId: "prj-1",
  otherProjectId: "prj-2",
  otherOrgId: "org-2",
  partitionId: "p1",
  clusterId: 7,
  emptyClusterId: 8,
  otherClusterId: 9,
  /** A user who must complete MFA first, and one without any policy; same password and domain. */
  mfaUser: "mfa-user",
  powerlessUser: "nobody",
} as const;

/** One organization with a user, policies, a cluster with quotas, instances and a catalogue. */
export function seed(world: World, credentials: Credentials = DEFAULT_CREDENTIALS): void {
  const { orgId, orgName, projectId, otherProjectId, otherOrgId } = SEEDED;
  world.organizations.set(orgId, {
    orgId,
    name: orgName,
    projectIds: new Set([projectId, otherProjectId]),
  });
  world.organizations.set(otherOrgId, {
    orgId: otherOrgId,
    name: "other",
    projectIds: new Set(["prj-9"]),
  });
  world.catalogue = seedCatalogue();
  for (const policy of seedPolicies(world.catalogue)) world.putPolicy(policy);
  const home = { ...credentials, orgId };
  world.addUser({ ...home, policyIds: ["pol-p1-admin"] });
  world.addUser({
    ...home,
    username: SEEDED.mfaUser,
    mfaRequired: true,
    policyIds: ["pol-p1-admin"],
  });
  world.addUser({ ...home, username: SEEDED.powerlessUser });
  const { clusterId, emptyClusterId, otherClusterId } = SEEDED;
  world.clusters.set(clusterId, { clusterId, orgId, projectId, quotas: seedQuotas(clusterId) });
  world.clusters.set(emptyClusterId, { clusterId: emptyClusterId, orgId, projectId, quotas: [] });
  world.clusters.set(otherClusterId, {
    clusterId: otherClusterId,
    orgId: otherOrgId,
    projectId: "prj-9",
    quotas: seedQuotas(otherClusterId).slice(0, 2),
  });
  world.instances = seedInstances();
}

function seedPolicies(catalogue: readonly CatalogAction[]): Policy[] {
  const { orgId, projectId, partitionId } = SEEDED;
  const inProject = [`trn:*:*:${orgId}:*:${projectId}:*/*`];
  const inPartition = [`trn:${partitionId}:*:${orgId}:*:*:*/*`];
  const everyCategory = [
    ...new Set(catalogue.map(({ actionId }) => actionId.replace(/\.\w+$/, ".*"))),
  ];
  const allButAdmin = catalogue
    .filter(({ actionClass }) => actionClass !== "Admin")
    .map(({ actionId }) => actionId);
  const policy = (
    policyId: string,
    kind: Policy["kind"],
    effect: "Allow" | "Deny",
    actions: readonly string[],
    resources: readonly string[],
  ): Policy => ({
    policyId,
    name: policyId.replace(/^pol-/, "").replaceAll("-", " "),
    orgId,
    kind,
    status: "active",
    statements: [{ Sid: policyId, Effect: effect, Action: actions, Resource: resources }],
  });
  const reading = [
    "svc:Compute.Instances.ListInstances",
    "svc:Compute.Instances.ReadInstance",
    "svc:SvcContainer.Cluster.ListClusters",
    "svc:SvcContainer.Policy.ListResourceQuotas",
    "svc:Iam.ActionCatalog.SearchActions",
  ];
  const deploying = ["svc:Compute.Instances.*", "svc:SvcContainer.Cluster.*"];
  const deleting = [
    "svc:Compute.Instances.DeleteInstance",
    "svc:SvcContainer.Cluster.DeleteCluster",
  ];
  return [
    policy("pol-read", "custom", "Allow", reading, inProject),
    policy("pol-deploy", "custom", "Allow", deploying, inProject),
    policy("pol-member", "custom", "Allow", allButAdmin, inProject),
    policy("pol-deny-delete", "custom", "Deny", deleting, inProject),
    policy("pol-deny-list", "custom", "Deny", ["svc:Compute.Instances.ListInstances"], inProject),
    policy("pol-p1-admin", "managed", "Allow", everyCategory, inPartition),
    policy("pol-p1-member", "managed", "Allow", allButAdmin, inPartition),
    policy("pol-scp-guardrail", "scp", "Deny", deleting, inProject),
    { ...policy("pol-retired", "custom", "Allow", reading, inProject), status: "inactive" },
  ];
}

function seedQuotas(clusterId: number): Quota[] {
  const rows: readonly (readonly [string, string, string | null, string, string])[] = [
    [
      "team-a",
      "compute-quota",
      "Active",
      "cpu: 500m/2, memory: 1Gi/4Gi",
      "cpu: 1/4, memory: 2Gi/8Gi",
    ],
    ["team-a", "storage-quota", "Active", "requests.storage: 10Gi/100Gi", ""],
    ["team-a", "object-counts", null, "pods: 3/50, services: 2/10", ""],
    [
      "team-b",
      "compute-quota",
      "Active",
      "cpu: 1500m/2, memory: 3Gi/4Gi",
      "cpu: 2/4, memory: 6Gi/8Gi",
    ],
    ["team-b", "gpu-quota", "Exceeded", "requests.nvidia.com/gpu: 4/4", ""],
    ["team-b", "best-effort", null, "pods: 0/5", ""],
    ["team-c", "compute-quota", "Active", "cpu: 0/1, memory: 0/512Mi", "cpu: 0/2, memory: 0/1Gi"],
    ["team-c", "unlimited", null, "-", "-"],
    ["team-c", "odd-text", "Active", "see the dashboard", "n/a"],
    ["kube-system", "system-quota", "Active", "cpu: 2/, memory 1Gi of 4Gi", ""],
    ["monitoring", "compute-quota", "Active", "cpu: 250m/1, memory: 768Mi/2Gi", "cpu: 1/2"],
    ["monitoring", "pods", "Active", "pods: 12/20", ""],
  ];
  return rows.map(([namespace, name, status, displayRequest, displayLimit], index) => ({
    clusterId,
    status,
    name,
    namespace,
    displayRequest,
    displayLimit,
    createdAt: new Date(Date.UTC(2026, 0, 1 + index)).toISOString().replace(".000Z", "Z"),
  }));
}

function seedInstances(): Instance[] {
  const { orgId, projectId, otherProjectId } = SEEDED;
  return Array.from({ length: 14 }, (_, index) => ({
    instanceId: `i-${String(index + 1).padStart(4, "0")}`,
    name: `vm-${index + 1}`,
    status: index % 4 === 3 ? "stopped" : "running",
    orgId,
    projectId: index < 12 ? projectId : otherProjectId,
    partitionId: index % 3 === 2 ? "p2" : "p1",
  }));
}
