/** A tenant whose objects make calls with a shared login that the console answers 401, such as an export of a cluster. */
import { expect, test } from "vitest";
import { clientSettings } from "../../src/connections/client-settings.ts";
import type { IamClient } from "../../src/console/client/client.ts";
import { createSessions } from "../../src/kinds/connection/sessions.ts";
import { silentLog } from "../../src/util/log.ts";
import { Redacted } from "../../src/util/redacted.ts";
import { systemClock } from "../../src/util/time.ts";
import { SEEDED } from "../../tools/iam-server/seed.ts";
import { ACCOUNT, clientOf, failureOf, LOGIN, startConsole } from "../unit/console/clients.ts";
import { connectionSpec } from "../unit/kinds/connection/specs.ts";

const KEY = "ClusterConnection/default";
const EXTRA = { method: "DELETE", path: "/api/v1/iam/authn/service-accounts/{saId}" } as const;

const attacks: Readonly<Record<string, (client: IamClient) => Promise<unknown>>> = {
  listResourceQuotas: (client) =>
    client.listResourceQuotas({ clusterId: 7, namespaces: [], filterNames: [] }),
  deleteServiceAccount: (client) => client.deleteServiceAccount?.("sa-1") ?? Promise.reject(),
  getServiceAccount: (client) => client.getServiceAccount("sa-1"),
};

test.each(["login", "token"] as const)(
  "no call that is answered 401 takes a shared %s from the others, nor from revoking access",
  async (kind) => {
    const server = await startConsole({
      extraCalls: { deleteServiceAccount: EXTRA },
    });
    const token = new Redacted(server.world.openSession("operator"));
    const credentials = kind === "login" ? LOGIN : ({ kind, token } as const);
    const sessions = createSessions({
      createClient: () =>
        clientOf(server, { credentials, extraCalls: { deleteServiceAccount: EXTRA } }),
      clock: systemClock,
      log: silentLog,
    });
    const client = sessions.prepare(KEY, clientSettings(connectionSpec(), { credentials }));
    sessions.put(KEY, {
      identity: { uid: "u", spec: "", inputs: "" },
      client,
      usable: true,
      reason: "",
    });
    const { saId, tpn = "" } = await client.createServiceAccount(ACCOUNT);
    for (const [operation, attack] of Object.entries(attacks)) {
      server.faults.add({
        operation: operation as "getServiceAccount",
        fault: { kind: "Refuse", status: 401 },
        times: 6,
      });
      for (let turn = 0; turn < 6; turn += 1) {
        expect(await failureOf(attack(client))).toMatchObject({ code: "Unauthenticated" });
        expect(sessions.get(KEY)?.usable).toBe(true);
      }
    }
    await client.urgent.syncBindings({ tpn, orgId: SEEDED.orgId, policyIds: [] });
    expect(await client.getServiceAccount(saId)).toMatchObject({ saId });
    expect(server.requests.count("login")).toBe(kind === "login" ? 1 : 0);
  },
);
