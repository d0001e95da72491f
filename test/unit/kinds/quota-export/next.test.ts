import { expect, test } from "vitest";
import type { ApiKey } from "../../../../src/api/api-key.ts";
import type { ConnectionRef } from "../../../../src/api/fields.ts";
import { API_VERSION } from "../../../../src/api/meta.ts";
import type { ServiceAccount } from "../../../../src/api/service-account.ts";
import { ALL_RIGHTS } from "../../../../src/kinds/connection/rules/effective-grant.ts";
import { chooseCredential } from "../../../../src/kinds/quota-export/rules/credential.ts";
import { next } from "../../../../src/kinds/quota-export/rules/next.ts";
import { report } from "../../../../src/kinds/quota-export/rules/report.ts";

const CONNECTION = { kind: "ClusterConnection", name: "default" } as const;

/** An export of cluster 7 with the connection's login, in a namespace that may export these clusters. */
function stepWith(quotaExports: readonly number[]) {
  const snapshot = {
    object: { metadata: { uid: "uid", generation: 1 } },
    spec: { clusterId: 7 },
    intervalMs: 60_000,
    connection: { ok: true, access: { grant: { ...ALL_RIGHTS, quotaExports } } },
    credential: { kind: "Bearer" },
  };
  return next({ snapshot: snapshot as never, done: {} }, { now: 0, monotonic: 0 } as never);
}

test("quotas are listed with the connection's login only if a grant names the cluster", () => {
  expect(stepWith([7]).kind).toBe("ListQuotas");
  expect(stepWith([8])).toMatchObject({ kind: "Waiting", reason: "QuotaExportNotGranted" });
});

test("an ApiKey without a key yet is waited for", () => {
  const object = (kind: string, name: string, rest: object) => ({
    apiVersion: API_VERSION,
    kind,
    metadata: { name, namespace: "team-a", uid: name, resourceVersion: "1" },
    ...rest,
  });
  const spec = { serviceAccountRef: { name: "ci-bot" } };
  const account = object("ServiceAccount", "ci-bot", { spec: {} }) as unknown as ServiceAccount;
  const choose = (status: object) =>
    chooseCredential(
      "ci",
      CONNECTION,
      object("ApiKey", "ci", { spec, status }) as unknown as ApiKey,
      () => account,
    );
  expect(choose({})).toEqual({ kind: "Waiting", message: "ApiKey ci does not have a key yet." });
  expect(choose({ current: { keyId: "key-1" } }).kind).toBe("Key");
});

test("a key is sent only over the connection of the account that it belongs to", () => {
  const object = (kind: string, name: string, rest: object) => ({
    apiVersion: API_VERSION,
    kind,
    metadata: { name, namespace: "team-a", uid: name, resourceVersion: "1" },
    ...rest,
  });
  const elsewhere = { connectionRef: { kind: "Connection", name: "elsewhere" } };
  const accounts: Readonly<Record<string, object>> = {
    former: object("ServiceAccount", "former", { spec: {}, status: { saId: "sa-1" } }),
    next: object("ServiceAccount", "next", { spec: elsewhere, status: { saId: "sa-2" } }),
  };
  const spec = { serviceAccountRef: { name: "next" } };
  const choose = (current: object, connection: ConnectionRef = CONNECTION) =>
    chooseCredential(
      "ci",
      connection,
      object("ApiKey", "ci", { spec, status: { current } }) as unknown as ApiKey,
      (name) => accounts[name] as unknown as ServiceAccount,
    ).kind;
  const key = { keyId: "key-1", serviceAccount: "former", saId: "sa-1" };
  expect(choose(key)).toBe("Key");
  expect(choose(key, { kind: "Connection", name: "elsewhere" })).toBe("Mismatch");
  expect(choose({ ...key, saId: "sa-9" })).toBe("Waiting");
});

test.each([
  ["a whole listing handles it", { quotas: [] }, "now"],
  ["an export that waits handles it too", {}, "now"],
])("a request: %s", (_, done, handled) => {
  const object = { metadata: { uid: "uid", generation: 1 }, status: {} };
  const waiting = { kind: "Waiting", state: "Reconciling", reason: "Denied", message: "no" };
  const snapshot = { object, request: "now", spec: { clusterId: 7 }, intervalMs: 60_000 };
  const at = { now: 0, monotonic: 0, fraction: 0 };
  const made = report({ snapshot, done } as never, waiting as never, at);
  expect(made.objects[0]?.handledRequest).toBe(handled);
});
