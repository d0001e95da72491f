/** Every invariant can fail: for each, something that it must not let pass. */

import { describe, expect, test } from "vitest";
import { annotations, labels } from "../../src/api/meta.ts";
import { secretType } from "../../src/kube/resource-types.ts";
import { attemptId, describeAccount } from "../../src/resources/marker.ts";
import {
  apiKeyType,
  clusterConnectionType,
  policyBindingType,
  serviceAccountType,
} from "../../src/resources/resource-types.ts";
import { DAY, HOUR, MINUTE, SECOND } from "../../src/util/time.ts";
import { type End, endChecks, everythingIsReady } from "./invariants/at-rest.ts";
import { changeChecks } from "./invariants/on-change.ts";
import { consoleChecks } from "./invariants/on-console.ts";
import { Stage } from "./invariants/stage.ts";
import { accountsOf } from "./invariants/view.ts";
import { watchers } from "./invariants/watchers.ts";
import { NAMESPACE } from "./places.ts";
import { extraCalls } from "./scenarios/console.ts";
import { connectionSpec } from "./sim-world.ts";

type Planting = readonly [invariant: string, what: string, plant: (stage: Stage) => unknown];

const READY = {
  type: "Ready",
  status: "True",
  reason: "Ready",
  message: "",
  observedGeneration: 1,
};

function isTrue(stage: Stage, type: string) {
  return { ...READY, type, lastTransitionTime: stage.time() };
}

/** An ApiKey that is Ready with a key in its Secret. */
async function delivered(stage: Stage, change = {}): Promise<{ keyId: string; secret: string }> {
  stage.apiKey();
  stage.status(apiKeyType, "ci", { attempt: attemptFor("NoKeyYet", stage) });
  const pair = stage.issue();
  await stage.pass(1);
  stage.secret({ ...pair }, { annotations: { [annotations.keyId]: pair.keyId } });
  stage.status(apiKeyType, "ci", {
    attempt: null,
    current: stage.current(pair.keyId, change),
    conditions: [{ ...READY, lastTransitionTime: stage.time() }],
  });
  return pair;
}

function attemptFor(reason: string, stage: Stage, id = "attempt-1") {
  return { id, revision: 1, reason, startTime: stage.time() };
}

/** One more issue, announced as it should be. */
async function issueAgain(stage: Stage, reason: string, attempt: string): Promise<void> {
  stage.status(apiKeyType, "ci", { attempt: attemptFor(reason, stage, attempt) });
  stage.issue(attempt);
  await stage.pass(1);
}

const bySecret: readonly Planting[] = [
  [
    "S1 pair",
    "the halves of two pairs in one Secret",
    (stage) => {
      stage.apiKey();
      stage.secret({ keyId: stage.issue().keyId, secret: stage.issue().secret });
    },
  ],
  ["S9 ownership", "a Secret without our label", (stage) => stage.secret({}, { labels: {} })],
  [
    "S9 ownership",
    "a Secret of another type than is asked for",
    (stage) => {
      stage.apiKey();
      stage.secret({}, {}, { type: "example.com/type" });
    },
  ],
  [
    "S8 late write",
    "a status that a gateway delivers when there is a later one",
    async (stage) => {
      stage.apiKey();
      const sentRevision = stage.world.kube.storage.revision - 1;
      await stage.pass(1);
      const operation = "apply apikeys/status";
      const late = stage.call({ server: "kube", operation, mutating: true, sentRevision });
      late.isPutOff = true;
      late.committedAt = stage.world.kernel.elapsed;
      stage.status(apiKeyType, "ci", { observedGeneration: 1 });
    },
  ],
  [
    "S9 deletion",
    "somebody else's Secret deleted",
    (stage) => {
      stage.world.create(secretType, { metadata: { name: "theirs", namespace: NAMESPACE } });
      stage.asOperator(() => stage.delete(secretType, "theirs"));
    },
  ],
  [
    "S9 preconditions",
    "a Secret changed whatever it is by now",
    (stage) => stage.call({ server: "kube", operation: "patch secrets", mutating: true }),
  ],
  [
    "S9 nothing left",
    "an ApiKey that goes before its Secret",
    async (stage) => {
      await delivered(stage);
      const { uid } = stage.stored.metadata;
      const owner = { apiVersion: "iam-operator.io/v1alpha1", kind: "ApiKey", name: "ci", uid };
      stage.asOperator(() => {
        stage.world.patch(secretType, "ci", { metadata: { ownerReferences: [owner] } });
        stage.world.patch(apiKeyType, "ci", { metadata: { finalizers: null } });
      });
    },
  ],
  [
    "S15 tenancy",
    "a Secret in another namespace than its owner's",
    (stage) => {
      stage.apiKey();
      const { uid } = stage.stored.metadata;
      const owner = { apiVersion: "iam-operator.io/v1alpha1", kind: "ApiKey", name: "ci", uid };
      stage.secret({}, { namespace: "default", ownerReferences: [owner] });
    },
  ],
  [
    "S2 no gap",
    "a Ready key that the console does not accept any more",
    async (stage) => stage.console.setKeyStatus((await delivered(stage)).keyId, "inactive"),
  ],
  [
    "S3 retirement",
    "the previous key gone from the Secret before the overlap is over",
    async (stage) => {
      const { keyId, secret } = await delivered(stage);
      const old = "sak_old";
      stage.status(apiKeyType, "ci", { superseded: [supersededNow(stage, old)] });
      for (const previousKeyId of [old, ""])
        stage.asOperator(() =>
          stage.world.patch(secretType, "ci", { stringData: { keyId, secret, previousKeyId } }),
        );
    },
  ],
];

function readyAccount(stage: Stage): void {
  stage.serviceAccount();
  const ready = { type: "Ready", status: "True", reason: "Created", message: "" };
  const conditions = [{ ...ready, lastTransitionTime: stage.time() }];
  stage.status(serviceAccountType, "ci-bot", { conditions });
}

function accountWithUnnamedKey(stage: Stage): void {
  readyAccount(stage);
  stage.issue();
}

function supersededNow(stage: Stage, keyId: string) {
  const { current } = stage.stored.status ?? {};
  return { ...current, keyId, supersededTime: stage.time(), state: "Live" };
}

const byKey: readonly Planting[] = [
  [
    "S3 retirement",
    "a key ended while it is in use",
    async (stage) => {
      const { keyId } = await delivered(stage);
      stage.asOperator(() => stage.console.deleteKey(keyId));
    },
  ],
  [
    "S3 retirement",
    "a Secret that does not show the key that was replaced",
    async (stage) => {
      const pair = await delivered(stage);
      const next = stage.issue();
      stage.asOperator(() => {
        for (const each of [pair, next])
          stage.world.patch(secretType, "ci", { stringData: { ...each, previousKeyId: "" } });
      });
    },
  ],
  [
    "S3 retirement",
    "a superseded key ended before its overlap is over",
    async (stage) => {
      await delivered(stage);
      const old = stage.issue();
      stage.status(apiKeyType, "ci", { superseded: [supersededNow(stage, old.keyId)] });
      stage.asOperator(() => stage.console.setKeyStatus(old.keyId, "inactive"));
    },
  ],
  [
    "S2 Ready is true",
    "an ApiKey that is Ready for seven minutes while its account is disabled",
    async (stage) => {
      await delivered(stage);
      await stage.pass(10 * MINUTE);
      stage.world.setAccountStatusInConsole(stage.account.saId, "inactive");
      await stage.pass(8 * MINUTE);
    },
  ],
  [
    "S11 evidence",
    "access that counts as revoked while a policy is bound",
    async (stage) => {
      stage.serviceAccount();
      bind(stage, "a");
      await stage.pass(MINUTE);
      stage.status(serviceAccountType, "ci-bot", { conditions: [isTrue(stage, "AccessRevoked")] });
    },
  ],
  [
    "S11 evidence",
    "a PolicyBinding that is Ready before its policy is bound",
    async (stage) => {
      stage.serviceAccount();
      stage.binding(["a", "b"], ["a", "b"]);
      bind(stage, "a");
      await stage.pass(MINUTE);
      stage.status(policyBindingType, "reader", { conditions: [isTrue(stage, "Ready")] });
    },
  ],
  ...["Inactive", "Disabled", "Deleted"].map(
    (state): Planting => [
      "S11 evidence",
      `a superseded key that counts as ${state} and is accepted`,
      async (stage) => {
        const { keyId } = await delivered(stage);
        const superseded = [{ ...stage.current(keyId), supersededTime: stage.time(), state }];
        stage.status(apiKeyType, "ci", { superseded });
      },
    ],
  ),
  [
    "S4 caps",
    "five keys in a day",
    async (stage) => {
      stage.apiKey();
      stage.status(apiKeyType, "ci", { recentIssues: Array(4).fill({ time: stage.time() }) });
      for (const id of ["1", "2", "3", "4", "5"]) await issueAgain(stage, "SecretMissing", id);
    },
  ],
  [
    "S4 caps",
    "a third attempt within a day after two lost keys with one in use",
    async (stage) => {
      await delivered(stage);
      await stage.pass(HOUR);
      const lost = { ...stage.current(""), observedTime: stage.time() };
      const orphaned = ["2", "3"].map((id) => ({ ...lost, keyId: `sak_${id}`, attemptId: id }));
      stage.status(apiKeyType, "ci", { orphaned });
      await issueAgain(stage, "RotationDue", "4");
    },
  ],
  [
    "S4 caps",
    "five keys in a day after one on request that a gateway has made twice",
    async (stage) => {
      stage.apiKey();
      stage.status(apiKeyType, "ci", { recentIssues: Array(4).fill({ time: stage.time() }) });
      await issueAgain(stage, "RotationRequested", "1");
      stage.issue("1");
      for (const id of ["2", "3", "4", "5", "6"]) await issueAgain(stage, "SecretMissing", id);
    },
  ],
  [
    "S4 window",
    "a budget that starts anew before a day is over",
    async (stage) => {
      stage.apiKey();
      stage.status(apiKeyType, "ci", { recentIssues: Array(4).fill({ time: stage.time() }) });
      await stage.pass(HOUR);
      stage.status(apiKeyType, "ci", { recentIssues: [{ time: stage.time() }] });
    },
  ],
  [
    "S6 intent",
    "a key without an announced attempt",
    (stage) => {
      stage.apiKey();
      stage.issue();
    },
  ],
  [
    "S6 finalizer",
    "a key for an ApiKey without the finalizer",
    (stage) => {
      stage.apiKey();
      stage.world.patch(apiKeyType, "ci", { metadata: { finalizers: null } });
      stage.status(apiKeyType, "ci", { attempt: attemptFor("NoKeyYet", stage) });
      stage.issue();
    },
  ],
  [
    "S6 intent (account)",
    "an account without an announced attempt",
    (stage) =>
      stage.asOperator(() => stage.console.createAccount({ ...stage.account, name: "another" })),
  ],
  [
    "S6 lost once",
    "a key listed as lost that another object lists",
    (stage) => {
      stage.apiKey();
      stage.world.create(apiKeyType, {
        metadata: { name: "other", namespace: NAMESPACE },
        spec: { serviceAccountRef: { name: "ci-bot" } },
      });
      const { keyId } = stage.issue("2", 90, "other");
      stage.status(apiKeyType, "other", { current: stage.current(keyId) });
      const orphan = {
        keyId,
        attemptId: "1",
        observedTime: stage.time(),
        expirationTime: stage.time(DAY),
      };
      stage.status(apiKeyType, "ci", { orphaned: [orphan] });
    },
  ],
  [
    "S7 order",
    "a status that is ahead of the Secret",
    (stage) => {
      stage.apiKey();
      stage.status(apiKeyType, "ci", { current: stage.current("sak_1") });
    },
  ],
  [
    "S7 verified",
    "Ready with a key that was never tried",
    (stage) => delivered(stage, { verificationTime: null }),
  ],
  [
    "S17 early rotation",
    "a rotation two months before its time",
    async (stage) => {
      await delivered(stage);
      await issueAgain(stage, "RotationDue", "2");
    },
  ],
  [
    "S17 L2 renewal",
    "a key in use half an hour before its end",
    async (stage) => {
      await delivered(stage, { expirationTime: stage.time(2 * HOUR) });
      await stage.pass(1.5 * HOUR);
    },
  ],
  [
    "L2 forecast",
    "a renewal that does not come, although nothing is said to stop it",
    async (stage) => {
      await delivered(stage);
      stage.status(apiKeyType, "ci", {
        renewalTime: stage.time(HOUR),
        conditions: [isTrue(stage, "Ready"), isTrue(stage, "IssuanceAllowed")],
      });
      await stage.pass(1.5 * HOUR);
    },
  ],
];

const byStatus: readonly Planting[] = [
  [
    "S16 generation",
    "an observedGeneration that falls",
    (stage) => {
      stage.apiKey();
      for (const observedGeneration of [2, 1])
        stage.status(apiKeyType, "ci", { observedGeneration });
    },
  ],
  [
    "S16 revision",
    "a revision that falls",
    async (stage) => {
      const { keyId } = await delivered(stage, { revision: 2 });
      stage.status(apiKeyType, "ci", { current: stage.current(keyId, { revision: 1 }) });
    },
  ],
  [
    "S16 key times",
    "a key whose times change",
    async (stage) => {
      const { keyId } = await delivered(stage);
      const issueTime = stage.time(-DAY);
      stage.status(apiKeyType, "ci", { current: stage.current(keyId, { issueTime }) });
    },
  ],
  [
    "S16 transitions",
    "a transition time that moves alone",
    async (stage) => {
      await delivered(stage);
      const lastTransitionTime = stage.time(HOUR);
      stage.status(apiKeyType, "ci", { conditions: [{ ...READY, lastTransitionTime }] });
    },
  ],
  [
    "readable message",
    "words that no person wrote",
    (stage) => {
      stage.apiKey();
      const message = "The account undefined is not there.";
      const conditions = [{ ...READY, message, lastTransitionTime: stage.time() }];
      stage.status(apiKeyType, "ci", { conditions });
    },
  ],
  [
    "safe advice",
    "to delete an ApiKey whose key works",
    async (stage) => {
      await delivered(stage);
      const message = "Delete this ApiKey.";
      const conditions = [{ ...READY, message, lastTransitionTime: stage.time() }];
      stage.status(apiKeyType, "ci", { conditions });
    },
  ],
  [
    "safe advice",
    "to create an account again whose keys work",
    async (stage) => {
      await delivered(stage);
      stage.serviceAccount();
      const message = "Create this object again.";
      const conditions = [{ ...READY, message, lastTransitionTime: stage.time() }];
      stage.status(serviceAccountType, "ci-bot", { conditions });
    },
  ],
  [
    "S13 leak",
    "a secret in a status",
    (stage) => {
      stage.apiKey();
      const message = stage.issue().secret;
      const conditions = [{ ...READY, message, lastTransitionTime: stage.time() }];
      stage.status(apiKeyType, "ci", { conditions });
    },
  ],
  ["S13 leak", "a secret in the log", (stage) => stage.world.logs.push(stage.issue().secret)],
];

function bind(stage: Stage, ...policyIds: string[]): void {
  stage.asOperator(() => stage.console.replaceBindings(stage.account.tpn, policyIds));
}

const byBindings: readonly Planting[] = [
  [
    "S10 completeness",
    "a policy unbound that a PolicyBinding wants",
    (stage) => {
      stage.serviceAccount();
      stage.binding(["a", "b"], ["a", "b"]);
      bind(stage, "a", "b");
      bind(stage, "a");
    },
  ],
  [
    "S11 S20 releases",
    "somebody else's policy unbound",
    (stage) => {
      stage.serviceAccount();
      stage.binding(["a"], ["a"]);
      stage.console.replaceBindings(stage.account.tpn, ["theirs"]);
      bind(stage, "a");
    },
  ],
  [
    "S11 S20 releases",
    "everything unbound, and nobody has said so",
    (stage) => {
      stage.serviceAccount({ foreignPolicies: "Remove" });
      stage.console.replaceBindings(stage.account.tpn, ["theirs"]);
      bind(stage);
    },
  ],
  [
    "S11 S20 releases",
    "a policy unbound since its PolicyBinding is not there",
    async (stage) => {
      stage.serviceAccount();
      stage.binding(["a", "b"], ["a", "b"]);
      bind(stage, "a", "b");
      await stage.pass(1);
      stage.world.patch(policyBindingType, "reader", { metadata: { finalizers: null } });
      stage.world.delete(policyBindingType, "reader");
      bind(stage, "a");
    },
  ],
  [
    "S11 record",
    "a policy bound that its PolicyBinding does not have on record",
    (stage) => {
      stage.serviceAccount();
      stage.binding(["a"], []);
      bind(stage, "a");
    },
  ],
  [
    "S11 record",
    "a policy bound for a PolicyBinding without the finalizer",
    (stage) => {
      stage.serviceAccount();
      stage.binding(["a"], ["a"]);
      stage.world.patch(policyBindingType, "reader", { metadata: { finalizers: null } });
      bind(stage, "a");
    },
  ],
  [
    "S11 reads",
    "bindings written after a read that failed",
    async (stage) => {
      stage.serviceAccount();
      for (const operation of ["list policybindings", "get serviceaccounts"])
        stage.call({ operation, outcome: "200" });
      const { tpn } = stage.account;
      stage.call({ operation: "listBindings", tpn, outcome: "500" });
      await stage.pass(1);
      stage.call({ operation: "syncBindings", tpn, mutating: true });
    },
  ],
  [
    "S11 reads",
    "bindings written after a read of another account's",
    async (stage) => {
      stage.serviceAccount();
      for (const operation of ["list policybindings", "get serviceaccounts"])
        stage.call({ operation, outcome: "200" });
      stage.call({ operation: "listBindings", tpn: "other", outcome: "200" });
      await stage.pass(1);
      stage.call({ operation: "syncBindings", tpn: stage.account.tpn, mutating: true });
    },
  ],
  [
    "S12 scope",
    "a policy of kind scp bound",
    (stage) => {
      const scp = [...stage.console.policies.values()].find(({ kind }) => kind === "scp");
      bind(stage, scp?.policyId ?? "");
    },
  ],
];

const byCall: readonly Planting[] = [
  ["S8 fence", "a change without a lease", (stage) => stage.call({ mutating: true })],
  [
    "S8 fence",
    "a change when the lease was renewed long ago",
    async (stage) => {
      const renewal = stage.call({ operation: "create leases", mutating: true });
      await stage.pass(1);
      renewal.committedAt = stage.world.kernel.elapsed;
      stage.lease("a_1");
      renewal.outcome = "201";
      await stage.pass(6 * SECOND);
      stage.call({ mutating: true });
    },
  ],
  [
    "S14 origin",
    "a call that the API description does not show",
    (stage) =>
      stage.world.console.handle({
        method: "GET",
        url: "https://console.example.com/api/v1/elsewhere",
        headers: {},
        timeoutMs: 1,
        maxBytes: 1,
      }),
  ],
  [
    "S19 logins",
    "two logins at once",
    (stage) => {
      stage.call({});
      stage.call({});
    },
  ],
  [
    "S19 logins",
    "a login right after three that failed",
    async (stage) => {
      for (let failures = 0; failures < 4; failures += 1) {
        stage.call({ outcome: "401" });
        await stage.pass(SECOND);
      }
    },
  ],
  [
    "S19 logins",
    "a login after a second factor was asked for",
    (stage) => {
      for (const user of stage.console.users.values()) user.mfaRequired = true;
      stage.call({ outcome: "200" });
      stage.call({ outcome: "200" });
    },
  ],
  [
    "L9 Retry-After",
    "a call that comes back too soon",
    (stage) => {
      const fault = { kind: "Refuse", status: 429, retryAfter: 2 } as const;
      stage.call({ operation: "issueKey", fault, outcome: "429" });
      stage.call({ operation: "issueKey" });
    },
  ],
  [
    "L10 refusals",
    "a refused call again and again",
    (stage) => {
      const fault = { kind: "Refuse", status: 403 } as const;
      for (let count = 0; count < 100; count += 1)
        stage.call({ operation: "issueKey", fault, outcome: "403" });
    },
  ],
];

const byTime: readonly Planting[] = [
  [
    "L4 leader failover",
    "nobody takes a lease that was given back",
    async (stage) => {
      stage.lease("");
      stage.refuseLeases();
      stage.world.startOperator("a");
      await stage.pass(10 * SECOND);
    },
  ],
  [
    "S5 key accounts",
    "a key in a status without its account",
    (stage) => delivered(stage, { saId: null }),
  ],
  [
    "S5 managed",
    "the key of an ApiKey among those that no ApiKey names",
    async (stage) => {
      readyAccount(stage);
      const { keyId } = await delivered(stage);
      const unmanagedKeys = [{ keyId, observedTime: stage.time() }];
      stage.status(serviceAccountType, "ci-bot", { unmanagedKeys });
    },
  ],
  [
    "S21 permissions stay",
    "a key of an account without policies in place of one that has some",
    async (stage) => {
      await delivered(stage);
      stage.console.replaceBindings(stage.account.tpn, ["pol-read"]);
      const other = stage.console.createAccount({ ...stage.account, name: "other" });
      const issued = stage.console.issueKey(other.saId, { description: "", expiresInDays: 90 });
      const stringData = { keyId: issued.key.keyId, secret: issued.secret };
      stage.asOperator(() => stage.world.patch(secretType, "ci", { stringData }));
    },
  ],
  [
    "L6 given up",
    "a deletion that gives up a key that a call could end",
    async (stage) => {
      stage.world.create(clusterConnectionType, {
        metadata: { name: "default" },
        spec: { ...connectionSpec, extraCalls },
      });
      stage.serviceAccount({ connectionRef: { kind: "ClusterConnection", name: "default" } });
      stage.status(serviceAccountType, "ci-bot", { ownership: "Owned" });
      await delivered(stage);
      stage.delete(apiKeyType, "ci");
      const metadata = { finalizers: null };
      stage.asOperator(() => stage.world.patch(apiKeyType, "ci", { metadata }));
    },
  ],
  [
    "L6 deletion",
    "a deletion that does not end",
    async (stage) => {
      stage.apiKey();
      stage.delete(apiKeyType, "ci");
      await stage.pass(HOUR);
    },
  ],
  [
    "S5 keys accounted in time",
    "a live key that no status names for longer than a list takes",
    async (stage) => {
      accountWithUnnamedKey(stage);
      await stage.pass(10 * MINUTE);
    },
  ],
  [
    "S5 keys accounted in time",
    "an account that was created twice and is in no status long after the list",
    async (stage) => {
      readyAccount(stage);
      const [{ metadata: { uid } = { uid: "" } } = {}] = accountsOf(stage.world);
      stage.call({ server: "iam", operation: "createServiceAccount", mutating: true }).outcome =
        "201";
      stage.console.createAccount({
        ...stage.account,
        description: describeAccount(
          "",
          { namespace: NAMESPACE, name: "ci-bot" },
          attemptId(uid, "1"),
        ),
      });
      await stage.pass(25 * MINUTE);
    },
  ],
  [
    "L7 expired",
    "an orphan that has long expired",
    async (stage) => {
      stage.apiKey();
      const observedTime = stage.time();
      const orphan = {
        keyId: "sak_1",
        attemptId: "1",
        observedTime,
        expirationTime: stage.time(HOUR),
      };
      stage.status(apiKeyType, "ci", { orphaned: [orphan] });
      await stage.pass(DAY + 3 * HOUR);
    },
  ],
  [
    "L8 news",
    "a changed spec that is not observed",
    async (stage) => {
      stage.apiKey();
      await stage.pass(15 * MINUTE);
    },
  ],
];

const plantings = [...bySecret, ...byKey, ...byStatus, ...byBindings, ...byCall, ...byTime];

test.each(plantings)("%s does not let pass: %s", async (invariant, _what, plant) => {
  const stage = new Stage();
  await plant(stage);
  expect(await stage.broken()).toContain(invariant);
});

test("L5 repair does not let pass: a Secret that stays destroyed", async () => {
  const event = { kind: "DeleteSecret" } as const;
  const stage = new Stage({ name: "", faults: [{ on: "world", afterMs: 1, event }] });
  await delivered(stage);
  stage.world.unleash();
  await stage.pass(20 * MINUTE);
  expect(await stage.broken()).toContain("L5 repair");
});

describe("in the end", () => {
  const endings: readonly Planting[] = [
    ["L1 declared state", "an object that is not Ready", (stage) => stage.apiKey()],
    ["S4 issues", "a key too many", (stage) => stage.issue()],
    [
      "S4 accounts",
      "an account too many",
      (stage) => stage.console.createAccount({ ...stage.account, name: "another" }),
    ],
    [
      "S5 accounting",
      "a key that no status names",
      (stage) => {
        stage.apiKey();
        stage.issue();
      },
    ],
    [
      "S11 told",
      "a policy that a gateway bound again, and that no status names",
      (stage) => {
        stage.serviceAccount();
        const bindings = {
          policies: [
            { policyId: "a", state: "Declared" },
            { policyId: "theirs", state: "Foreign" },
          ],
          policyCount: 2,
          lastSyncTime: "2026-01-01T00:00:00Z",
        };
        stage.status(serviceAccountType, "ci-bot", { bindings });
        bind(stage, "theirs", "a", "late");
      },
    ],
    [
      "S18 quiescence",
      "a change with nothing to do",
      async (stage) => {
        await stage.pass(1);
        for (let count = 0; count < 2; count += 1)
          stage.call({ operation: "apply secrets", mutating: true });
      },
    ],
    [
      "pending removed",
      "a pending Secret",
      (stage) => stage.secret({}, { name: "ci-next", labels: { [labels.apiKey]: "ci" } }),
    ],
    [
      "S5 keys accounted",
      "a live key whose ApiKey is gone, and that its account does not report",
      accountWithUnnamedKey,
    ],
    [
      "safe advice",
      "advice from before the key was in use",
      async (stage) => {
        stage.apiKey();
        const message = "Delete this ApiKey.";
        const conditions = [{ ...READY, message, lastTransitionTime: stage.time() }];
        stage.status(apiKeyType, "ci", { attempt: attemptFor("NoKeyYet", stage), conditions });
        const pair = stage.issue();
        await stage.pass(1);
        stage.secret({ ...pair }, { annotations: { [annotations.keyId]: pair.keyId } });
        stage.status(apiKeyType, "ci", { attempt: null, current: stage.current(pair.keyId) });
      },
    ],
    ["no crash", "a bug that nothing caught", (stage) => stage.world.escaped.push("TypeError")],
  ];

  test.each(endings)("%s does not let pass: %s", async (invariant, _what, plant) => {
    const stage = new Stage();
    await plant(stage);
    const end: Omit<End, "world"> = {
      epochs: 0,
      allowance: 0,
      quietSince: 0,
      picture: "",
      unreached: everythingIsReady,
    };
    stage.invariants.checkEnd(end);
    expect(await stage.broken()).toContain(invariant);
  });

  test("none is left untried", () => {
    expect(new Set(endings.map(([invariant]) => invariant))).toEqual(
      new Set(Object.keys(endChecks)),
    );
  });
});

test("none is left untried", () => {
  const all = [changeChecks, consoleChecks, watchers].flatMap((checks) => Object.keys(checks));
  const others = ["S2 no gap", "S13 leak", "S14 origin"];
  const tried = new Set(plantings.map(([invariant]) => invariant));
  tried.add("L5 repair");
  expect([...tried].sort()).toEqual([...all, ...others].sort());
});

test("a key on request that a gateway makes twice passes", async () => {
  const stage = new Stage();
  await delivered(stage);
  for (const id of ["2", "3"]) await issueAgain(stage, "SecretMissing", id);
  await issueAgain(stage, "RotationRequested", "4");
  stage.status(apiKeyType, "ci", { attempt: null });
  stage.issue("4");
  expect(await stage.broken()).not.toContain("S4 caps");
});

test("what is as it should be passes", async () => {
  const stage = new Stage();
  await delivered(stage);
  stage.status(apiKeyType, "ci", { observedGeneration: 1 });
  stage.serviceAccount();
  stage.status(serviceAccountType, "ci-bot", { observedGeneration: 1 });
  stage.binding(["a"], ["a", "b"]);
  stage.status(policyBindingType, "reader", { observedGeneration: 1 });
  stage.console.replaceBindings(stage.account.tpn, ["theirs"]);
  bind(stage, "theirs", "a", "b");
  // What its PolicyBinding has on record and wants no longer.
  bind(stage, "theirs", "a");
  await stage.pass(HOUR);
  expect(await stage.broken()).toEqual([]);
});
