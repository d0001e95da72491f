/** Reading objects with few permissions, and selecting objects. */
import { expect, test } from "vitest";
import type { KindName } from "../../../src/api/kinds.ts";
import { KubeError } from "../../../src/kube/errors.ts";
import { exitCode } from "../../../src/kubectl-iam/cli/errors.ts";
import type { Options } from "../../../src/kubectl-iam/cli/options.ts";
import type { Cluster } from "../../../src/kubectl-iam/cluster/cluster.ts";
import { type AnyObject, kindNames } from "../../../src/kubectl-iam/cluster/kinds.ts";
import { missingSecrets } from "../../../src/kubectl-iam/cluster/missing-secrets.ts";
import { readWorld } from "../../../src/kubectl-iam/cluster/read.ts";
import {
  parseNames,
  resolveNames,
  selectObjects,
} from "../../../src/kubectl-iam/cluster/resolve.ts";
import { waitForAll } from "../../../src/kubectl-iam/cluster/wait.ts";
import { connectionRefOf } from "../../../src/kubectl-iam/console/from-cluster.ts";
import { renderObject } from "../../../src/kubectl-iam/view/object-screen.ts";
import { screenOf } from "../../../src/kubectl-iam/view/screen.ts";
import { HOUR } from "../../../src/util/time.ts";
import { fakeIo } from "./support/fake-io.ts";

/** A cluster without objects, whose user can list the given plurals only. */
function clusterWith(listable: readonly string[]): Cluster {
  const list = async ({ plural }: { plural: string }) => {
    if (listable.includes(plural)) return [];
    throw new KubeError("Forbidden", `list ${plural}: forbidden`, { status: 403 });
  };
  return { namespace: "team-a", kube: { list } } as unknown as Cluster;
}
const all = { all: true } as Options;

test("a Secret is missing only if a read has shown that", async () => {
  const secrets = ["labelled", "plain"];
  const refused = new KubeError("Forbidden", "secrets: forbidden", { status: 403 });
  const clusterFor = (verbs: readonly string[]) => {
    const metadata = (name: string) => ({ metadata: { name, namespace: "n" } });
    const collect = async (_: unknown, digest: (secret: object) => unknown) => {
      if (verbs.includes("list")) return [digest(metadata("labelled"))];
      throw refused;
    };
    const get = async (_: unknown, { name }: { name: string }) => {
      if (!verbs.includes("get")) throw refused;
      return secrets.includes(name) ? metadata(name) : undefined;
    };
    return { namespace: "n", kube: { collect, get } } as unknown as Cluster;
  };
  const keys = [...secrets, "gone", undefined].map((secretName) => ({
    metadata: { name: "k", namespace: "n" },
    status: { secretName },
  }));
  for (const verbs of [["get", "list"], ["get"]])
    expect([...(await missingSecrets(clusterFor(verbs), "n", keys as never))]).toEqual(["n/gone"]);
  for (const verbs of [["list"], []])
    expect((await missingSecrets(clusterFor(verbs), "n", keys as never)).size).toBe(0);
});

test("if no kind can be listed, the error names all kinds and the namespace", async () => {
  await expect(readWorld(clusterWith([]), undefined)).rejects.toMatchObject({
    code: "Forbidden",
    message: expect.stringMatching(
      /^you do not have permission to list .*serviceaccounts.*apikeys.* in all namespaces$/,
    ),
  });
});

test("a change for all objects names every kind that cannot be listed, and skips none", async () => {
  const selecting = selectObjects(clusterWith(["apikeys"]), [], ["ApiKey", "PolicyBinding"], all);
  await expect(selecting).rejects.toThrow(
    /^you do not have permission to list policybindings in namespace team-a$/,
  );
});

test("a selection without objects fails and names the searched namespace", async () => {
  const plurals = ["apikeys"];
  await expect(selectObjects(clusterWith(plurals), [], ["ApiKey"], all)).rejects.toThrow(
    "No objects match in namespace team-a: kubectl iam status -A lists",
  );
});

test("what cannot be read is not said not to exist", async () => {
  const cluster = clusterWith(["apikeys"]);
  await expect(resolveNames(cluster, ["x"])).rejects.toThrow(
    /^object called x not found in namespace team-a\. You do not have permission to list .*connections/,
  );
  const get = async () => {
    throw new KubeError("Forbidden", "forbidden", { status: 403 });
  };
  const refusing = { namespace: "n", kube: { get } } as unknown as Cluster;
  await expect(connectionRefOf(refusing, { kind: undefined, name: "c" })).rejects.toThrow(
    /write iamconn\/c or iamcconn\/c$/,
  );
});

test("a wait does not take a new object of the same name for the one that was deleted", async () => {
  const object = (uid: string) =>
    ({ kind: "ApiKey", metadata: { name: "k", namespace: "n", uid } }) as AnyObject;
  const kube = { get: async () => object("new"), list: async () => [] };
  const cluster = { namespace: "n", kube, now: () => 0 } as unknown as Cluster;
  const { io } = fakeIo();
  const waiting = { findMissing: () => undefined, done: () => exitCode.ok };
  const wait = (uid: string) =>
    waitForAll({ io, options: {}, args: [] }, cluster, [object(uid)], waiting);
  await expect(wait("old")).rejects.toThrow("iamkey/k was deleted meanwhile.");
  expect(await wait("new")).toBe(exitCode.ok);
});

test("if several of the given objects do not exist, the error names all of them", async () => {
  const stored = { kind: "ApiKey", metadata: { name: "a", namespace: "team-a" } };
  const list = async ({ plural }: { plural: string }) => (plural === "apikeys" ? [stored] : []);
  const get = async (_: unknown, { name }: { name: string }) => (name === "a" ? stored : undefined);
  const cluster = { namespace: "team-a", kube: { list, get } } as unknown as Cluster;
  const select = (...names: string[]) =>
    selectObjects(cluster, parseNames(names), ["ApiKey"], {} as Options);
  await expect(select("a", "iamkey/b", "c", "iamsa/d")).rejects.toThrow(
    "iamkey/b, object called c, iamsa/d not found in namespace team-a.",
  );
  await expect(select("iamcconn/e")).rejects.toThrow("iamcconn/e not found.");
  expect(await select("a", "iamkey/a")).toEqual([stored]);
});

function fieldOf(name: string, object: object, unreadable: readonly KindName[] = []) {
  const world = {
    clusterConnections: [],
    connections: [],
    serviceAccounts: [],
    policyBindings: [],
    apiKeys: [],
    quotaExports: [],
  };
  const read = { world, unreadable, events: [], secretIsMissing: false };
  const subject = { object: object as never, ...read, now: HOUR };
  const text = renderObject(subject, screenOf({ width: undefined, hasColor: false }));
  return new RegExp(`^${name} +(.*)$`, "m").exec(text)?.[1];
}

test.each([
  [[], "iamsa/ci-bot, which does not exist"],
  [kindNames, "iamsa/ci-bot"],
])("an account counts as missing only if accounts can be listed", (unreadable, account) => {
  const object = {
    kind: "ApiKey",
    metadata: { name: "key", namespace: "team-a" },
    spec: { serviceAccountRef: { name: "ci-bot" }, rotation: { windows: [] } },
  };
  expect(fieldOf("Account", object, unreadable)).toBe(account);
});

test("the last list of an account's keys may be later than the status tells", () => {
  const object = {
    kind: "ServiceAccount",
    metadata: { name: "ci-bot", namespace: "team-a" },
    spec: { connectionRef: { kind: "Connection", name: "console" } },
    status: { keyCount: 1, lastKeyListTime: "1970-01-01T00:30:00Z" },
  };
  expect(fieldOf("In the console", object)).toBe("1 key, listed 30m ago or later");
});
