/** What administrators do: in the console, and with the grants of the connection. */
import {
  clusterConnectionType,
  serviceAccountType,
} from "../../../src/resources/resource-types.ts";
import { MINUTE } from "../../../src/util/time.ts";
import type { Tree } from "../../api-server/tree.ts";
import { SEEDED } from "../../iam-server/seed.ts";
import type { AccountRecord } from "../../iam-server/world.ts";
import { ACCOUNT, MEMBER } from "../scenarios.ts";
import { type Story, type StoryOptions, type StoryWorld, unready } from "./story.ts";

/** A connection whose only grant allows every policy, except for this change. */
export function granting(change: Tree): Tree {
  const namespaces = { names: ["team-a"] };
  return { grants: [{ name: "all", namespaces, policyIds: ["*"], ...change }] };
}

/** Changes the grant, or takes it away. */
export function grant(world: StoryWorld, change: Tree | "Nothing", rest: Tree = {}): void {
  const grants = change === "Nothing" ? { grants: [] } : granting(change);
  world.change(clusterConnectionType, "default", { ...grants, ...rest });
}

/** An account that an administrator made, with a policy. */
export function createInConsole(
  world: StoryWorld,
  change: Partial<AccountRecord> = {},
): AccountRecord {
  const console = world.sim.console.world;
  const { orgId, projectId } = SEEDED;
  const wanted = { orgId, projectId, name: "old", description: "from before", ...change };
  const account = console.createAccount(wanted);
  console.replaceBindings(account.tpn, [MEMBER]);
  return account;
}

/** Replaces the policies of the first account. */
export function bindInConsole(world: StoryWorld, policyIds: readonly string[]): void {
  const console = world.sim.console.world;
  const [account] = [...console.accounts.values()];
  console.replaceBindings(account?.tpn ?? "", policyIds);
}

/** A story in which policies go on the word of the connection's administrator, or all of them. */
export function withdrawn(name: string, tell: Story["tell"], options: StoryOptions = {}): Story {
  return unready(name, tell, { ...options, excuses: ["S10 completeness", "S11 S20 releases"] });
}

/** Revokes access, and grants it again: `bound` comes back. */
export async function revokeAndGrant(world: StoryWorld, bound: readonly string[]): Promise<void> {
  world.change(serviceAccountType, ACCOUNT, { access: "Revoked" });
  await world.pass(MINUTE);
  world.expect("nothing is bound", world.bound, []);
  world.change(serviceAccountType, ACCOUNT, { access: "Granted" });
  await world.pass(MINUTE);
  world.expect("bound again", world.bound, bound);
}
