/** Stories about the console: slow, forgetful, strict, or with calls beyond the documented ones. */

import { secretType } from "../../../src/kube/resource-types.ts";
import { clusterConnectionType } from "../../../src/resources/resource-types.ts";
import { MINUTE, SECOND } from "../../../src/util/time.ts";
import type { Tree } from "../../api-server/tree.ts";
import { DEFAULT_CREDENTIALS, SEEDED } from "../../iam-server/seed.ts";
import { OPERATOR_NAMESPACE } from "../places.ts";
import {
  fromNothing,
  fromRest,
  rotateNow,
  type Scenario,
  startWithAll,
  usual,
} from "../scenarios.ts";
import type { SimWorld } from "../sim-world.ts";

export const extraCalls = {
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

/** A second key, and the time until the first one's overlap is over. */
const rotation = { epochs: 2, thenMs: 8 * MINUTE };

export const consoleScenarios: readonly Scenario[] = [
  fromNothing("keys become usable slowly", { world: { keyPropagationMs: 25 * SECOND } }),
  fromNothing("tokens for a second only", { world: { settings: { tokenLifetimeMs: SECOND } } }),
  fromRest("superseded key retired", (world) => rotateNow(world, "one"), {
    ...rotation,
    world: { extraCalls },
    specChanges: { connection: { extraCalls } },
    atEnd: (world) => {
      const live = [...world.console.world.keys.values()].filter(
        ({ status }) => status === "active",
      );
      // A key that was lost on the way is nobody's to delete.
      return live.length <= 1 + world.crashes + world.journal.struckCommits.length
        ? undefined
        : `${live.length} keys live`;
    },
  }),
  fromRest(
    "password changed",
    async (world) => {
      setPassword(world, "another-password");
      world.console.world.revokeTokens();
      rotateNow(world, "one");
      await world.kernel.advance(MINUTE);
      changeLogin(world, { password: "another-password" });
    },
    rotation,
  ),
  {
    ...usual,
    name: "second factor demanded, then another user",
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
  fromRest(
    "connection wrong, then right again",
    async (world) => {
      const login = (name: string) => ({ credentials: { login: { secretRef: { name } } } });
      world.patch(clusterConnectionType, "default", { spec: login("nowhere") });
      rotateNow(world, "one");
      await world.kernel.advance(MINUTE);
      world.patch(clusterConnectionType, "default", { spec: login("console-login") });
    },
    rotation,
  ),
];
