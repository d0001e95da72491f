/** Stories about the console: slow, forgetful, strict, or with calls beyond the documented ones. */
import { clusterConnectionType } from "../../../src/controllers/resource-types.ts";
import { secretType } from "../../../src/kube/resource-types.ts";
import { MINUTE, SECOND } from "../../../src/util/time.ts";
import { DEFAULT_CREDENTIALS, SEEDED } from "../../iam-server/seed.ts";
import type { Tree } from "../api-server/tree.ts";
import { OPERATOR_NAMESPACE } from "../places.ts";
import { ALONE, createAll, rotateNow, type Scenario, startWithAll } from "../scenarios.ts";
import type { SimWorld } from "../sim-world.ts";

const extraCalls = {
  disableKey: { method: "POST", path: "/api/v1/x/accounts/{saId}/keys/{keyId}/disable" },
  deleteKey: { method: "DELETE", path: "/api/v1/x/accounts/{saId}/keys/{keyId}" },
} as const;

/** Puts other credentials into the Secret of the connection. */
function changeLogin(world: SimWorld, stringData: Tree): void {
  world.patch(secretType, "console-login", { stringData }, undefined, OPERATOR_NAMESPACE);
}

function setPassword(world: SimWorld, password: string): void {
  const user = world.console.world.users.get(DEFAULT_CREDENTIALS.username);
  if (user !== undefined) user.password = password;
}

function requireSecondFactor(world: SimWorld): void {
  const user = world.console.world.users.get(DEFAULT_CREDENTIALS.username);
  if (user !== undefined) user.mfaRequired = true;
  world.console.world.revokeTokens();
}

export const consoleScenarios: readonly Scenario[] = [
  {
    name: "keys become usable slowly",
    flags: ALONE,
    settleMs: 20 * MINUTE,
    epochs: 1,
    world: { keyPropagationMs: 25 * SECOND },
    play: async (world) => {
      world.startOperator();
      world.unleash();
      createAll(world);
      await world.kernel.advance(2 * MINUTE);
    },
  },
  {
    name: "tokens for a second only",
    flags: ALONE,
    settleMs: 20 * MINUTE,
    epochs: 1,
    world: { settings: { tokenLifetimeMs: SECOND } },
    play: async (world) => {
      world.startOperator();
      world.unleash();
      createAll(world);
      await world.kernel.advance(2 * MINUTE);
    },
  },
  {
    name: "superseded key retired",
    flags: ALONE,
    settleMs: 20 * MINUTE,
    epochs: 2,
    world: { extraCalls },
    play: async (world) => {
      await startWithAll(world, { connection: { extraCalls } });
      world.unleash();
      rotateNow(world, "one");
      await world.kernel.advance(8 * MINUTE);
    },
    atEnd: (world) => {
      const live = [...world.console.world.keys.values()].filter(
        ({ status }) => status === "active",
      );
      // A key that was lost on the way is nobody's to delete.
      return live.length <= 1 + world.crashes + world.struckCommits
        ? undefined
        : `${live.length} keys live`;
    },
  },
  {
    name: "password changed",
    flags: ALONE,
    settleMs: 20 * MINUTE,
    epochs: 2,
    play: async (world) => {
      await startWithAll(world);
      world.unleash();
      setPassword(world, "another-password");
      world.console.world.revokeTokens();
      rotateNow(world, "one");
      await world.kernel.advance(MINUTE);
      changeLogin(world, { password: "another-password" });
      await world.kernel.advance(8 * MINUTE);
    },
  },
  {
    name: "second factor demanded, then another user",
    flags: ALONE,
    settleMs: 20 * MINUTE,
    epochs: 2,
    play: async (world) => {
      const { password, domain } = DEFAULT_CREDENTIALS;
      const policyIds = ["pol-p1-admin"];
      const other = { username: "robot", password, domain, orgId: SEEDED.orgId, policyIds };
      world.console.world.addUser(other);
      await startWithAll(world);
      world.unleash();
      requireSecondFactor(world);
      rotateNow(world, "one");
      await world.kernel.advance(MINUTE);
      changeLogin(world, { username: "robot" });
      await world.kernel.advance(8 * MINUTE);
    },
  },
  {
    name: "connection wrong, then right again",
    flags: ALONE,
    settleMs: 20 * MINUTE,
    epochs: 2,
    play: async (world) => {
      await startWithAll(world);
      world.unleash();
      const login = (name: string) => ({ credentials: { login: { secretRef: { name } } } });
      world.patch(clusterConnectionType, "default", { spec: login("nowhere") });
      rotateNow(world, "one");
      await world.kernel.advance(MINUTE);
      world.patch(clusterConnectionType, "default", { spec: login("console-login") });
      await world.kernel.advance(8 * MINUTE);
    },
  },
];
