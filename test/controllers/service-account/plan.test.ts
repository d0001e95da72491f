import { expect, test } from "vitest";
import { attemptId, describeAccount } from "../../../src/controllers/service-account/marker.ts";
import type { Known } from "../../../src/controllers/service-account/observe.ts";
import { lookFor, plan, type Seen } from "../../../src/controllers/service-account/plan.ts";
import type { IamServiceAccount } from "../../../src/iam/model.ts";
import { account, key, NOW, situation } from "./objects.ts";

const attempt = { id: attemptId("u1", "a"), startTime: NOW - 60_000 };
const observed = { generation: 1, startTime: NOW - 20_000, nextAt: NOW + 1_000 };
const memory = { uid: "u1", observed };
const justLooked = { uid: "u1", observed: { ...observed, startTime: NOW - 9_000 } };

test.each<{ name: string; known: Partial<Known>; spec?: object; look: object }>([
  { name: "a new object is looked for by name", known: {}, look: { kind: "List" } },
  {
    name: "an import is looked for by id",
    known: {},
    spec: { saId: "sa-9" },
    look: { kind: "Get", saId: "sa-9" },
  },
  {
    name: "a young attempt is given time",
    known: { attempt: { ...attempt, startTime: NOW - 5_000 } },
    look: { kind: "Wait", ms: 20_000 },
  },
  { name: "an old attempt is looked up", known: { attempt }, look: { kind: "List", attempt } },
  {
    name: "an answer that was not yet written down is not asked for again",
    known: {
      attempt,
      memory: { uid: "u1", created: { attempt: attempt.id, account: { saId: "sa-1" } } },
    },
    look: { kind: "Remember", account: { saId: "sa-1" } },
  },
  {
    name: "a known account is looked at after a start",
    known: { account },
    look: { kind: "Get", saId: "sa-1" },
  },
  { name: "an idle pass asks nothing", known: { account, memory }, look: { kind: "Nothing" } },
  {
    name: "a changed spec looks again",
    known: { account, memory, generation: 2 },
    look: { kind: "Get", saId: "sa-1" },
  },
  {
    name: "a request looks again",
    known: { account, memory, asked: "now" },
    look: { kind: "Get", saId: "sa-1" },
  },
  {
    name: "the time comes to look again",
    known: { account, memory: { uid: "u1", observed: { ...observed, nextAt: NOW } } },
    look: { kind: "Get", saId: "sa-1" },
  },
  {
    name: "a key that came since the last look is looked for",
    known: { account, memory, unlistedKeyAt: NOW - 20_000 },
    look: { kind: "Get", saId: "sa-1" },
  },
  {
    name: "keys that follow each other are looked for together",
    known: { account, memory: justLooked, unlistedKeyAt: NOW - 1_000 },
    look: { kind: "Nothing" },
  },
  {
    name: "a key that the last look ought to have shown is not looked for again",
    known: { account, memory, unlistedKeyAt: NOW - 21_000 },
    look: { kind: "Nothing" },
  },
  {
    name: "a key from the future waits for the clock",
    known: { account, memory, unlistedKeyAt: NOW + 1_000 },
    look: { kind: "Nothing" },
  },
])("$name", ({ known, spec = {}, look }) => {
  expect(lookFor(situation(known, spec), NOW)).toEqual(look);
});

const listed = (changes: Partial<IamServiceAccount> = {}): IamServiceAccount => ({
  saId: "sa-1",
  tpn: "tpn:r1:org-1:prj-1:sa/sa-1",
  orgId: "org-1",
  projectId: "prj-1",
  name: "ci-bot",
  status: "active",
  ...changes,
});
const listing = (...accounts: IamServiceAccount[]) => ({ ok: true, accounts }) as const;
const got = (detail: Partial<IamServiceAccount> | undefined): Seen => ({
  kind: "Got",
  saId: "sa-1",
  detail: detail === undefined ? undefined : { ...listed(detail), keyIds: ["sak_1"] },
});
const ours = { description: describeAccount(undefined, key, attempt.id) };

test.each<{
  name: string;
  known?: Partial<Known>;
  spec?: object;
  seen: Seen;
  actions: readonly string[];
  finding?: string;
}>([
  {
    name: "a creation is announced before it is sent, and held before it is announced",
    known: { held: false },
    seen: { kind: "Listed", attempt: undefined, listing: listing() },
    actions: [
      "AddFinalizer FinalizerIsMissing",
      "RecordAttempt AccountIsMissing",
      "CreateAccount AccountIsMissing",
    ],
  },
  {
    name: "a console that cannot be listed does not prevent creation",
    seen: { kind: "Listed", attempt: undefined, listing: { ok: false, code: "MalformedResponse" } },
    actions: ["RecordAttempt AccountIsMissing", "CreateAccount AccountIsMissing"],
  },
  {
    name: "a name that is taken is not taken again",
    seen: { kind: "Listed", attempt: undefined, listing: listing(listed()) },
    actions: [],
    finding: "Stalled AccountExists",
  },
  {
    name: "a lost status is found again by the marker",
    seen: { kind: "Listed", attempt: undefined, listing: listing(listed(ours)) },
    actions: ["RecordAccount Recovered"],
  },
  {
    name: "an attempt that took effect is adopted",
    known: { attempt },
    seen: { kind: "Listed", attempt, listing: listing(listed(ours)) },
    actions: ["CloseAttempt AttemptIsAnswered", "RecordAccount Recovered"],
  },
  {
    name: "an attempt without effect is followed by another one",
    known: { attempt },
    seen: { kind: "Listed", attempt, listing: listing() },
    actions: ["RecordAttempt AccountIsMissing", "CreateAccount AccountIsMissing"],
  },
  {
    name: "an attempt beside an account of that name ends without a second one",
    known: { attempt },
    seen: { kind: "Listed", attempt, listing: listing(listed({ description: "by hand" })) },
    actions: ["CloseAttempt AttemptIsAnswered"],
    finding: "Stalled AccountExists",
  },
  {
    name: "an attempt with two possible outcomes is for a person",
    known: { attempt },
    seen: { kind: "Listed", attempt, listing: listing(listed(), listed({ saId: "sa-2" })) },
    actions: [],
    finding: "Stalled AmbiguousServiceAccount",
  },
  {
    name: "an attempt that cannot be looked up is never repeated",
    known: { attempt },
    seen: { kind: "Listed", attempt, listing: { ok: false, code: "MalformedResponse" } },
    actions: [],
    finding: "Stalled CreateOutcomeUnknown",
  },
  {
    name: "an answer at hand needs no lookup",
    known: { attempt },
    seen: { kind: "Remember", account: listed() },
    actions: ["CloseAttempt AttemptIsAnswered", "RecordAccount Created"],
  },
  {
    name: "an import is held and recorded",
    known: { held: false },
    spec: { saId: "sa-1" },
    seen: got({}),
    actions: ["AddFinalizer FinalizerIsMissing", "RecordAccount Imported"],
  },
  {
    name: "an import of nothing is for a person",
    spec: { saId: "sa-1" },
    seen: got(undefined),
    actions: [],
    finding: "Stalled ServiceAccountNotFound",
  },
  {
    name: "an import from another organization is refused",
    spec: { saId: "sa-1" },
    seen: got({ orgId: "org-2" }),
    actions: [],
    finding: "Stalled OrganizationMismatch",
  },
  {
    name: "an import from another project than the one named is refused",
    spec: { saId: "sa-1", projectId: "prj-1" },
    seen: got({ projectId: "prj-2" }),
    actions: [],
    finding: "Stalled ProjectMismatch",
  },
  {
    name: "an import from any project is fine where none is named",
    spec: { saId: "sa-1" },
    seen: got({ projectId: "prj-2" }),
    actions: ["RecordAccount Imported"],
  },
  {
    name: "a known account that vanished is never created again by itself",
    known: { account },
    seen: got(undefined),
    actions: [],
    finding: "Stalled ServiceAccountGone",
  },
  {
    name: "what was found holds until the next look",
    known: {
      account,
      memory: {
        uid: "u1",
        observed: {
          ...observed,
          finding: { state: "Stalled", reason: "ServiceAccountGone", message: "gone" },
        },
      },
    },
    seen: { kind: "Nothing" },
    actions: [],
    finding: "Stalled ServiceAccountGone",
  },
  {
    name: "an account of a suspended object is only looked at",
    known: { account, held: false },
    spec: { suspend: true },
    seen: got({}),
    actions: ["RecordAccount Observed"],
  },
])("$name", ({ known, spec, seen, actions, finding }) => {
  const decision = plan(situation(known, spec), seen, attemptId("u1", "new"), () => false);
  expect(decision.actions.map(({ kind, because }) => `${kind} ${because}`)).toEqual(actions);
  const found = decision.finding;
  expect(found && `${found.state} ${found.reason}`).toBe(finding);
});

test("a creation carries organization, project, name and marker", () => {
  const seen: Seen = { kind: "Listed", attempt: undefined, listing: listing() };
  const spec = { name: "bot", projectId: "prj-2", description: "builds" };
  const { actions } = plan(situation({}, spec), seen, "a-1", () => false);
  expect(actions.at(-1)).toMatchObject({
    account: {
      orgId: "org-1",
      projectId: "prj-2",
      name: "bot",
      description: "builds k8s team-a/ci-bot#a-1",
    },
  });
});
