/** What a command that waits says, and when it ends, by what the objects report. */
import { expect, test } from "vitest";
import type { AnyObject } from "../../../src/kubectl-iam/cluster/kinds.ts";
import { whyDelayed, whyDelayedByReport } from "../../../src/kubectl-iam/cluster/why-delayed.ts";
import { SECOND } from "../../../src/util/time.ts";

type Report = readonly [status: string, reason: string, state?: "Stalled" | "Reconciling"];

function object(kind: string, [status, reason, state]: Report, more: object = {}): AnyObject {
  const ready = { type: "Ready", status, reason, message: `Of ${kind}.` };
  const other = { type: state, status: "True", reason, message: `Of ${kind}.` };
  return {
    kind,
    metadata: { name: "n", namespace: "t" },
    status: { conditions: state === undefined ? [ready] : [ready, other] },
    ...more,
  } as unknown as AnyObject;
}

const key = (report: Report, more?: object) => object("ApiKey", report, more);
const account = (report: Report, more?: object) => object("ServiceAccount", report, more);
const connection = (report: Report, more?: object) => object("Connection", report, more);
const observed = (given: AnyObject): AnyObject => ({
  ...given,
  status: { ...given.status, observedGeneration: 1 },
});
const suspended = { spec: { suspend: true } };
const planned = { metadata: { name: "n", annotations: { "iam-operator.io/plan-only": "yes" } } };
const request = { "iam-operator.io/reconcile-requested-at": "now" };
const requested = (more: object = {}) => ({
  metadata: { name: "n", annotations: { ...request, ...more } },
});
const forbidding = (reason: string) => ({
  status: {
    conditions: [
      { type: "Ready", status: "True", reason: "KeyDelivered", message: "" },
      { type: "IssuanceAllowed", status: "False", reason, message: "Of the next key." },
    ],
  },
});
const stoppedBy = (reason: string, allowed = "False", more: object = {}) =>
  key(["True", reason], {
    status: {
      conditions: [
        { type: "Ready", status: "True", reason, message: "Of ApiKey." },
        { type: "IssuanceAllowed", status: allowed, reason, message: "Of the next key." },
      ],
      ...more,
    },
  });
const delivered = key(["True", "KeyDelivered"]);
const waiting = key(["False", "ServiceAccountNotReady", "Reconciling"]);

test.each([
  ["nothing reported", { object: delivered }],
  ["a suspension that is not reported yet", { object: { ...delivered, ...suspended } }],
  ["a plan that is not reported yet", { object: { ...delivered, ...planned } }],
  [
    "a suspended account",
    { object: delivered, account: account(["True", "Suspended"], suspended) },
  ],
  ["a stalled account", { object: delivered, account: account(["False", "Bad", "Stalled"]) }],
  [
    "a suspended connection",
    { object: delivered, connection: connection(["True", "Suspended"], suspended) },
  ],
])("%s holds up nothing", (_, chain) => {
  expect(whyDelayed(chain as never)).toBeUndefined();
});

test.each<[string, Parameters<typeof whyDelayed>[0], string, boolean, number?]>([
  [
    "a reported suspension",
    { object: key(["True", "Suspended"], suspended) },
    "iamkey/n is suspended; kubectl iam resume iamkey/n -n t lets it continue",
    true,
  ],
  [
    "a suspension that holds up a deletion",
    {
      object: key(["True", "Suspended"], {
        ...suspended,
        metadata: { name: "n", namespace: "t", deletionTimestamp: "2026-01-01T00:00:00Z" },
      }),
    },
    "iamkey/n is suspended; kubectl iam resume iamkey/n -n t continues its deletion",
    true,
  ],
  [
    "a suspension that was lifted",
    { object: key(["True", "Suspended"]) },
    "Suspended: Of ApiKey.",
    false,
  ],
  ["a reported plan", { object: key(["True", "PlanOnly"], planned) }, "PlanOnly: Of ApiKey.", true],
  ["a plan that was lifted", { object: key(["True", "PlanOnly"]) }, "PlanOnly: Of ApiKey.", false],
  ["its own stall", { object: key(["False", "Bad", "Stalled"]) }, "Bad: Of ApiKey.", true],
  [
    "its own stall, reported before the last request",
    { object: key(["False", "Bad", "Stalled"], requested()) },
    "Bad: Of ApiKey.",
    false,
  ],
  [
    "a plan, reported before the last request",
    { object: key(["True", "PlanOnly"], requested(planned.metadata.annotations)) },
    "PlanOnly: Of ApiKey.",
    false,
  ],
  [
    "the stall of an account, whose failed runs do not handle a request",
    { object: account(["False", "Bad", "Stalled"], requested()) },
    "Bad: Of ServiceAccount.",
    true,
  ],
  ["its own trouble", { object: key(["False", "Bad", "Reconciling"]) }, "Bad: Of ApiKey.", false],
  [
    "what time ends, of a key in use",
    { object: key(["True", "BudgetExceeded"]) },
    "BudgetExceeded: Of ApiKey.",
    false,
  ],
  [
    "what only a manual change ends, of a key in use",
    { object: key(["True", "SecretImmutable"]) },
    "SecretImmutable: Of ApiKey.",
    true,
  ],
  [
    "a policy of the cluster that stops the next key",
    { object: stoppedBy("SecretRejected") },
    "SecretRejected: Of the next key.",
    true,
  ],
  [
    "a policy of the cluster that would change the Secret of the next key",
    { object: stoppedBy("SecretNotKept") },
    "SecretNotKept: Of the next key.",
    true,
  ],
  [
    "a policy of the cluster that changes a Secret, and stops no key",
    { object: stoppedBy("SecretNotKept", "True") },
    "SecretNotKept: Of ApiKey.",
    false,
  ],
  [
    "a policy of the cluster that holds up the pair of a key that is issued",
    { object: stoppedBy("SecretRejected", "False", { pending: { keyId: "k" } }) },
    "SecretRejected: Of the next key.",
    false,
  ],
  [
    "the same, reported before the last request",
    { object: key(["True", "SecretImmutable"], requested()) },
    "SecretImmutable: Of ApiKey.",
    false,
  ],
  [
    "the same, of which the last run has found nothing",
    { object: key(["True", "KeyDelivered"], forbidding("SecretImmutable")) },
    "SecretImmutable: Of the next key.",
    false,
  ],
  [
    "a stalled account that it waits for",
    { object: waiting, account: account(["False", "Bad", "Stalled"]) },
    "iamsa/n is not ready: Bad: Of ServiceAccount.",
    true,
  ],
  [
    "the connection that its account waits for",
    {
      object: waiting,
      account: account(["False", "ConnectionNotReady", "Reconciling"]),
      connection: connection(["False", "LoginFailed", "Stalled"]),
    },
    "iamconn/n is not ready: LoginFailed: Of Connection.",
    true,
    20 * SECOND,
  ],
  [
    "an address that the operator refuses",
    { object: observed(connection(["False", "AddressRefused", "Stalled"])) },
    "AddressRefused: Of Connection.",
    true,
  ],
  [
    "an address that the operator refused before the last change of the spec",
    {
      object: connection(["False", "AddressRefused", "Stalled"]),
    },
    "AddressRefused: Of Connection.",
    true,
    20 * SECOND,
  ],
  [
    "what it reports of an account that is ready by now",
    {
      object: key(["False", "ServiceAccountNotReady", "Stalled"]),
      account: account(["True", "Created"]),
    },
    "ServiceAccountNotReady: Of ApiKey.",
    false,
  ],
  [
    "an account that it waits for, of a key in use",
    {
      object: key(["True", "ServiceAccountNotReady"]),
      account: account(["False", "Bad", "Stalled"]),
    },
    "iamsa/n is not ready: Bad: Of ServiceAccount.",
    false,
  ],
  [
    "the suspended connection that its account waits for",
    {
      object: key(["True", "ServiceAccountNotReady"]),
      account: account(["False", "ConnectionSuspended", "Stalled"]),
      connection: connection(["True", "Suspended"], suspended),
    },
    "iamconn/n is suspended; kubectl iam resume iamconn/n -n t lets it continue",
    true,
  ],
  [
    "an account that is not readable",
    { object: waiting },
    "ServiceAccountNotReady: Of ApiKey.",
    false,
  ],
])("%s is named", (_, chain, text, isFinal, patienceMs) => {
  expect(whyDelayed(chain)).toEqual({ text, isFinal, ...(patienceMs && { patienceMs }) });
});

test("a pause does not end a wait for a revocation", () => {
  const paused = account(["False", "Suspended", "Stalled"], suspended);
  expect(whyDelayedByReport({ object: paused })).toMatchObject({ isFinal: false });
});
