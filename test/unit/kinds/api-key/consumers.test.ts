import { describe, expect, test } from "vitest";
import type { ApiKeyStatus } from "../../../../src/api/api-key.ts";
import { findCondition } from "../../../../src/api/conditions.ts";
import type { Consumers, ConsumersMode } from "../../../../src/consumers/board.ts";
import { contentHash } from "../../../../src/kinds/api-key/rules/content.ts";
import type { ApiKeySnapshot } from "../../../../src/kinds/api-key/rules/snapshot.ts";
import { Redacted } from "../../../../src/util/redacted.ts";
import { DAY, HOUR, toIso8601 } from "../../../../src/util/time.ts";
import {
  account,
  at,
  checked,
  current,
  delivered,
  firstOf,
  holding,
  keySpec,
  NOW,
  object,
  pair,
  reportedStatus,
  snapshot,
  superseded,
  values,
} from "./builders.ts";

const template = { id: "${keyId}", s: "${secret}", old: "${previousKeyId}:${previousSecret}" };
const hashOf = (revision: number, spec = keySpec()) =>
  contentHash(spec.secret.data, values, pair(revision));
const statusAfter = (world: ApiKeySnapshot, ms = 0) =>
  reportedStatus(world, { kind: "Settled" }, at(ms));

describe("the hash of a content", () => {
  test("changes with the key, with the template and with a value in use", () => {
    const other = { ...values, tpn: "tpn:other" };
    const hashes = [
      contentHash(template, values, pair(1)),
      contentHash(template, values, pair(2)),
      contentHash({ ...template, tpn: "${tpn}" }, values, pair(1)),
      contentHash({ ...template, tpn: "${tpn}" }, other, pair(1)),
    ];
    expect(new Set(hashes).size).toBe(4);
    for (const hash of hashes) expect(hash).toMatch(/^[0-9a-f]{16}$/);
  });

  test("knows nothing of the secret, of values not in use, and of the order of entries", () => {
    const hash = contentHash(template, values, pair(1));
    const { old, s, id } = template;
    expect(contentHash(template, values, { ...pair(1), secret: new Redacted("other") })).toBe(hash);
    expect(contentHash(template, { ...values, tpn: "x" }, pair(1))).toBe(hash);
    expect(contentHash({ old, s, id }, values, pair(1))).toBe(hash);
  });

  test("is what it was: Pod templates carry it", () => {
    expect(contentHash(template, values, pair(1))).toBe("382170b809affb96");
  });
});

describe("the content in the status", () => {
  const known = { hash: "0".repeat(16), replacementTime: toIso8601(NOW - DAY) };
  const first = { hash: hashOf(1) };
  const changed = { hash: hashOf(1), replacementTime: toIso8601(NOW) };
  const storing = (content: ApiKeyStatus["content"]) => ({ object: object({ content }) });
  const edited = holding(pair(1), keySpec({ secret: { data: template } }));
  const waiting = { kind: "Waiting", state: "Reconciling", reason: "x", message: "y" } as const;

  test.each<[string, ApiKeySnapshot, ApiKeyStatus["content"], number?]>([
    ["the first one replaces nothing", delivered(), first],
    ["another one came now", delivered(storing(known)), changed],
    ["it stays dated", delivered(storing(changed)), changed, HOUR],
    ["the first one in an adopted Secret", delivered({ hasAdopted: true }), changed],
    ["no Secret", delivered({ target: { kind: "Absent" }, ...storing(known) }), known],
    ["an edited Secret", delivered({ target: edited, ...storing(known) }), known],
    ["an unknown account", delivered({ account: waiting, ...storing(known) }), known],
    ["no key", snapshot(storing(known)), known],
  ])("%s", (_, world, content, ms = 0) => {
    expect(statusAfter(world, ms).content).toEqual(content);
  });

  test("does not change when the previous pair leaves the Secret", () => {
    const spec = keySpec({ secret: { data: template } });
    const previous = { keyId: "sak_0", secret: new Redacted("0".repeat(43)) };
    const status = { superseded: [superseded(0)] };
    const during = delivered({ spec, target: holding(pair(1), spec, previous), status });
    const after = delivered({ spec, target: holding(pair(1), spec) });
    for (const world of [during, after])
      expect(statusAfter(world).content?.hash).toBe(hashOf(1, spec));
  });
});

const content = { hash: hashOf(1), replacementTime: toIso8601(NOW - DAY) };
const counted = (stale: number, changes: object = {}): Consumers => ({
  kind: "Counted",
  hash: hashOf(1),
  pods: 3,
  stale,
  staleNames: ["api-1", "api-2"].slice(0, stale),
  ...changes,
});
const unread: Consumers = { kind: "Unknown", reason: "Forbidden", message: "The API said no." };
const looked = (
  mode: ConsumersMode,
  known: Consumers | undefined,
  stored: ApiKeyStatus = { content },
  spec: object = {},
) => delivered({ spec: keySpec(spec), object: object(stored), consumers: { mode, known } });
const before = { content, consumers: { pods: 2, stale: 1 } };
const extended = { rotation: { maxOverlapExtension: "72h" } };
const rollout = { rollout: { selector: {} } };
const note = { isDone: false, reason: "WorkloadNotFound", message: "There is no Deployment api." };

const older = { ...before, content: { hash: "x" } };
const otherHash = counted(0, { hash: "x" });
const conditionOf = ({ conditions }: ApiKeyStatus, type: string) => {
  const found = findCondition(conditions, type);
  return found && `${found.status} ${found.reason}`;
};

describe("what the status says about consumers", () => {
  test.each<[string, ApiKeySnapshot, object | undefined, string | undefined]>([
    ["not counted", looked("none", undefined, before), undefined, undefined],
    [
      "an extension without a count",
      looked("none", undefined, before, extended),
      undefined,
      "Unknown CountingDisabled",
    ],
    ["none is behind", looked("count", counted(0)), { pods: 3, stale: 0 }, "True AllCurrent"],
    ["two are behind", looked("count", counted(2)), { pods: 3, stale: 2 }, "False ConsumersStale"],
    [
      "no Secret yet",
      snapshot({ consumers: { mode: "count", known: undefined } }),
      undefined,
      undefined,
    ],
    ["no count yet", looked("count", undefined), undefined, "Unknown Counting"],
    ["of another content", looked("count", otherHash), undefined, "Unknown Counting"],
    ["a start", looked("count", undefined, before), before.consumers, "Unknown Counting"],
    ["unread", looked("count", unread, before), before.consumers, "Unknown Forbidden"],
    ["unread and older", looked("count", unread, older), undefined, "Unknown Forbidden"],
  ])("%s", (_, world, consumers, condition) => {
    const status = statusAfter(world);
    expect(status.consumers).toEqual(consumers);
    expect(conditionOf(status, "ConsumersCurrent")).toBe(condition);
  });

  const done = counted(0, { rollout: { ...note, isDone: true, reason: "NothingToRestart" } });
  const failed = counted(1, { rollout: note });
  test.each<[string, ConsumersMode, Consumers | undefined, object, string | undefined]>([
    ["without a rollout", "restart", counted(0), {}, undefined],
    ["if restarts are disabled", "count", counted(0), rollout, "False RestartsDisabled"],
    ["if all is disabled", "none", undefined, rollout, "False RestartsDisabled"],
    ["that cannot be done", "restart", failed, rollout, "False WorkloadNotFound"],
    ["that is done", "restart", done, rollout, "True NothingToRestart"],
    ["before the first count", "restart", undefined, rollout, undefined],
  ])("a rollout %s", (_, mode, known, spec, condition) => {
    const status = statusAfter(looked(mode, known, { content }, spec));
    expect(conditionOf(status, "RolledOut")).toBe(condition);
  });

  test("some of the stale Pods are named", () => {
    const world = looked("count", counted(2, { stale: 3 }));
    expect(findCondition(statusAfter(world).conditions, "ConsumersCurrent")?.message).toBe(
      "3 of 3 Pods still use an older version of the Secret: api-1, api-2 and 1 more.",
    );
  });

  test("a condition that is not needed any more goes", () => {
    const { conditions } = statusAfter(looked("count", counted(2)));
    const world = looked("none", undefined, { content, conditions });
    expect(findCondition(statusAfter(world).conditions, "ConsumersCurrent")).toBeUndefined();
  });
});

describe("the overlap", () => {
  const ends = { ...account, canDisableKeys: true };
  interface Case {
    /** Since when key 1 is in use. */
    readonly hours?: number;
    readonly known?: Consumers | undefined;
    readonly mode?: ConsumersMode;
    readonly rotation?: object;
    readonly status?: ApiKeyStatus;
    readonly expirationTime?: number;
  }
  const nextAfter = (given: Case) => {
    const { hours = 25, known, mode = "count", rotation, status = { content }, ...old } = given;
    const world = delivered({
      account: ends,
      spec: keySpec({ rotation: rotation ?? { maxOverlapExtension: "72h" } }),
      object: object(status),
      consumers: { mode, known },
      verdicts: checked("sak_1"),
      status: {
        current: current(1),
        superseded: [superseded(0, { supersededTime: NOW - hours * HOUR, ...old })],
      },
    });
    return firstOf(world).kind;
  };
  const upToDate = { content, consumers: { pods: 3, stale: 0 } };
  const older = { content: { hash: "x" }, consumers: { pods: 3, stale: 1 } };

  test.each<[string, Case]>([
    ["no Pod is behind", { known: counted(0) }],
    ["a Pod is behind at the end of the bound", { hours: 96, known: counted(1) }],
    ["an earlier count of this content", { known: unread, status: upToDate }],
    ["no extension", { known: counted(1), rotation: {} }],
  ])("ends: %s", (_, given) => {
    expect(nextAfter(given)).toBe("DisableKey");
  });

  test.each<[string, Case]>([
    ["a Pod is behind", { known: counted(1) }],
    ["a Pod is behind before the end of the bound", { hours: 95, known: counted(1) }],
    ["it lasts at least as long as the overlap", { hours: 23, known: counted(0) }],
    ["Pods cannot be read", { known: unread }],
    ["before the first count", {}],
    ["the count is of another content", { known: counted(0, { hash: "x" }) }],
    ["consumers are not counted", { mode: "none" }],
    ["an earlier count of another content", { known: unread, status: older }],
    ["the key has expired: nothing to end", { known: counted(1), expirationTime: NOW }],
  ])("lasts: %s", (_, given) => {
    expect(nextAfter(given)).toBe("Settled");
  });
});
