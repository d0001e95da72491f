/**
 * A tenant's own console says that the victim's account is the tenant's; then the tenant's Connection is turned to the
 * console that has the account.
 */
import { expect, test } from "vitest";
import { isTrue } from "../../../src/api/conditions.ts";
import { SECOND } from "../../../src/util/time.ts";
import { SEEDED } from "../../../tools/iam-server/seed.ts";
import type { World } from "../../real-world/world.ts";
import { startImpostor } from "../../tenants/impostor.ts";
import {
  connectCluster,
  runAlone,
  servingAll,
  thenDisconnect,
} from "../../tenants/support/cluster-connection.ts";
import { withNeighbours } from "../../tenants/support/neighbours.ts";

runAlone();

const { orgId, projectId } = SEEDED;
const TIMEOUT_MS = 120 * SECOND;

/** How the attacker's object came to the account, and what the victim's object reaches it by. */
interface Case {
  readonly origin: "created" | "imported";
  readonly kind: "ClusterConnection" | "Connection";
}

interface Scene {
  readonly victim: World;
  readonly attacker: World;
  readonly saId: string;
  /** What is bound to the account. */
  bound(): readonly string[];
  /** Lets the attacker's own console answer. */
  release(): void;
}

const binding = (policyId: string) => ({
  serviceAccountRef: { name: "ci" },
  policyIds: [policyId],
});

/** The victim's connection to the console that has the account. */
async function connect(victim: World, kind: Case["kind"]): Promise<object> {
  if (kind === "Connection") {
    await victim.connect();
    return { kind, name: "console" };
  }
  const namespaces = { names: [victim.namespace] };
  const grant = { namespaces, policyIds: ["pol-read"], importServiceAccounts: true };
  await connectCluster(victim, [{ name: "victim", ...grant }]);
  return { kind, name: victim.namespace };
}

/** The victim's object is the younger one. */
async function ownAccount(victim: World, saId: string, kind: Case["kind"]): Promise<void> {
  const second = () => Math.floor(Date.now() / SECOND);
  const before = second();
  await victim.until("the next second", () => second() > before);
  const connectionRef = await connect(victim, kind);
  await victim.serviceAccount("ci", { connectionRef, saId, deletionPolicy: "Revoke" });
  await victim.apply("PolicyBinding", "read", binding("pol-read"));
  await victim.ready("PolicyBinding", "read");
}

/** Up to where the attacker's object is ready by the attacker's console, and its connection leads to the other one. */
async function begin(victim: World, attacker: World, { origin, kind }: Case): Promise<Scene> {
  const { world, url } = victim.iam;
  const account = world.createAccount({ orgId, projectId, name: "old", description: "" });
  const { saId, tpn } = account;
  const impostor = await startImpostor(account);
  await attacker.connect({ baseURL: impostor.url, limits: { timeout: "30s" } });
  await attacker.serviceAccount("ci", origin === "imported" ? { saId } : {});
  await attacker.ready("ServiceAccount", "ci");
  await ownAccount(victim, saId, kind);

  // A look that is not answered keeps the controller from finding out at the other console.
  impostor.hold();
  await attacker.annotate("ServiceAccount", "ci", {
    "iam-operator.io/reconcile-requested-at": "now",
  });
  await attacker.until("the look", () => impostor.held > 0);
  // The login may do everything there: only the operator is in the way.
  await attacker.connect({ baseURL: url });
  await attacker.ready("Connection", "console");
  const { status } = await attacker.get("ServiceAccount", "ci");
  expect(status).toMatchObject({ saId, consoleURL: impostor.url });
  expect(isTrue(status?.conditions, "Ready")).toBe(true);
  return { victim, attacker, saId, bound: () => world.boundTo(tpn), release: impostor.release };
}

function attack(how: Case, body: (scene: Scene) => Promise<void>): Promise<void> {
  const play = withNeighbours(
    1,
    async (victim, attacker) => {
      const played = async () => body(await begin(victim, attacker, how));
      await (how.kind === "Connection" ? played() : thenDisconnect(victim, played));
    },
    servingAll,
  );
  return play();
}

test.each<Case>([
  { origin: "created", kind: "ClusterConnection" },
  { origin: "imported", kind: "ClusterConnection" },
  { origin: "created", kind: "Connection" },
  { origin: "imported", kind: "Connection" },
])(
  "an object whose account another console has $origin gets nothing of it, and its owner on a $kind loses nothing",
  (how) =>
    attack(how, async ({ victim, attacker, saId, bound, release }) => {
      await attacker.apply("PolicyBinding", "grab", binding("pol-deploy"));
      await attacker.apiKey("steal");
      await attacker.condition("PolicyBinding", "grab", "Ready", "False");
      expect(await attacker.message("PolicyBinding", "grab")).toContain("was found at");
      await attacker.condition("ApiKey", "steal", "Ready", "False");
      expect(await attacker.message("ApiKey", "steal")).toContain("was found at");

      await victim.reconcile("ServiceAccount", "ci", "1");
      await victim.ready("ServiceAccount", "ci");
      await victim.patch("ServiceAccount", "ci", { spec: { access: "Revoked" } });
      await victim.until("revoked access", () => bound().length === 0);
      await victim.patch("ServiceAccount", "ci", { spec: { access: "Granted" } });
      await victim.until("the policies to be back", () => bound().length > 0);

      release();
      await attacker.condition("ServiceAccount", "ci", "Stalled", "True", "AlreadyClaimed");
      expect(victim.iam.world.keysOf(saId)).toEqual([]);
      await victim.delete("ServiceAccount", "ci");
      await victim.delete("PolicyBinding", "read");
      await victim.isGone("ServiceAccount", "ci");
      const changes = victim.iam.world.journal.flatMap((each) =>
        each.kind === "bindingsReplaced" ? [each.after] : [],
      );
      // Whatever follows is the attacker's own login's: the account is nobody else's any more.
      expect(changes.slice(0, 4)).toEqual([["pol-read"], [], ["pol-read"], []]);
    }),
  TIMEOUT_MS,
);

test.each(["created", "imported"] as const)(
  "the end of an object whose account another console has %s leaves its owner's policies bound",
  (origin) =>
    attack({ origin, kind: "Connection" }, async ({ victim, attacker, bound, release }) => {
      await attacker.patch("ServiceAccount", "ci", { spec: { deletionPolicy: "Revoke" } });
      await attacker.delete("ServiceAccount", "ci");
      release();
      await attacker.isGone("ServiceAccount", "ci");
      expect(bound()).toEqual(["pol-read"]);
      await victim.reconcile("ServiceAccount", "ci", "1");
      await victim.ready("ServiceAccount", "ci");
    }),
  TIMEOUT_MS,
);
