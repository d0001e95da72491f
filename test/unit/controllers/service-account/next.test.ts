import { expect, test } from "vitest";
import type { Settled, Waiting } from "../../../../src/controllers/frame/rules/outcome.ts";
import { stalled } from "../../../../src/controllers/frame/rules/waiting.ts";
import { attemptId, describeAccount } from "../../../../src/controllers/marker.ts";
import { next } from "../../../../src/controllers/service-account/rules/next.ts";
import type {
  AccountAction,
  AccountDone,
  AccountSnapshot,
} from "../../../../src/controllers/service-account/rules/snapshot.ts";
import type { IamServiceAccount } from "../../../../src/iam/model.ts";
import { account, accountName, at, key, NOW, serviceAccount, snapshotOf } from "./objects.ts";

const attempt = { id: attemptId("u1", "a"), startTime: NOW - 60_000, described: undefined };
const lastRead = {
  saId: "sa-1",
  consoleURL: "https://console.example.com",
  generation: 1,
  startTime: NOW - 40_000,
  nextTime: NOW + 1_000,
  finding: undefined,
  keyRequests: [],
};
const state = { lastRead };
const justLooked = { lastRead: { ...lastRead, startTime: NOW - 29_000 } };
const unheld = serviceAccount({ metadata: { finalizers: [] } });

interface Case {
  readonly name: string;
  readonly seen?: Partial<AccountSnapshot>;
  readonly spec?: object;
  readonly done?: AccountDone;
  readonly step: string;
}

function stepOf({ seen, spec, done = {} }: Omit<Case, "name" | "step">) {
  return next({ snapshot: snapshotOf(seen, spec), done }, at);
}

/** `GetAccount sa-1`, `RecordAccount Imported`, `Stalled AccountExists`. */
function toText(step: AccountAction | Waiting | Settled): string {
  switch (step.kind) {
    case "GetAccount":
      return `GetAccount ${step.saId}`;
    case "RecordAccount":
      return `RecordAccount ${step.because}`;
    case "Waiting":
      return `${step.state} ${step.reason}`;
    default:
      return step.kind;
  }
}

test.each<Case>([
  { name: "a new object is looked for by name", step: "ListAccounts" },
  { name: "an import is looked for by id", spec: { saId: "sa-9" }, step: "GetAccount sa-9" },
  {
    name: "a young attempt is given time",
    seen: { attempt: { ...attempt, startTime: NOW - 5_000 } },
    step: "Reconciling CreateOutcomeUnknown",
  },
  { name: "an old attempt is looked up", seen: { attempt }, step: "ListAccounts" },
  {
    name: "an answer that was not yet written down is not asked for again",
    seen: {
      attempt,
      state: { created: { attempt: attempt.id, account: { saId: "sa-1" } } },
    },
    step: "RecordAccount Created",
  },
  {
    name: "an answer to another attempt says nothing",
    seen: { attempt, state: { created: { attempt: "other", account: { saId: "sa-1" } } } },
    step: "ListAccounts",
  },
  {
    name: "a known account is looked at after a start",
    seen: { account },
    step: "GetAccount sa-1",
  },
  { name: "an idle run asks nothing", seen: { account, state }, step: "Settled" },
  {
    name: "a changed spec looks again",
    seen: { account, state, object: serviceAccount({ metadata: { generation: 2 } }) },
    step: "GetAccount sa-1",
  },
  {
    name: "a request looks again",
    seen: { account, state, request: "now" },
    step: "GetAccount sa-1",
  },
  {
    name: "a request is answered by one look",
    seen: { account, state, request: "now" },
    done: { lookTime: NOW },
    step: "Settled",
  },
  {
    name: "the time comes to look again",
    seen: { account, state: { lastRead: { ...lastRead, nextTime: NOW } } },
    step: "GetAccount sa-1",
  },
  {
    name: "an account that was found at another console is looked for at this one first",
    seen: { account: { ...account, consoleURL: "https://fake.example.com" }, state },
    step: "GetAccount sa-1",
  },
  {
    name: "so is one that was looked for at another console",
    seen: { account, state: { lastRead: { ...lastRead, consoleURL: "https://fake.example.com" } } },
    step: "GetAccount sa-1",
  },
  {
    name: "an account that a status has come to name is looked at",
    seen: { account: { ...account, saId: "sa-2" }, state },
    step: "GetAccount sa-2",
  },
  {
    name: "a key that came since the last look is looked for",
    seen: { account, state, unlistedKeyTime: NOW - 20_000 },
    step: "GetAccount sa-1",
  },
  {
    name: "keys that follow each other are looked for together",
    seen: { account, state: justLooked, unlistedKeyTime: NOW - 1_000 },
    step: "Settled",
  },
  {
    name: "a key that the last look ought to have shown is not looked for again",
    seen: { account, state, unlistedKeyTime: NOW - 41_000 },
    step: "Settled",
  },
  {
    name: "a request for a run over one of its ApiKeys looks again",
    seen: { account, state, keyRequests: ["k1 now"] },
    step: "GetAccount sa-1",
  },
  {
    name: "such a request is answered once",
    seen: {
      account,
      state: { lastRead: { ...lastRead, keyRequests: ["k1 now"] } },
      keyRequests: ["k1 now"],
    },
    step: "Settled",
  },
  ...[1, 5, 15, 60].map((minutes) => ({
    name: `the account is read ${minutes} minutes after an issue with an unknown outcome was closed`,
    seen: {
      account,
      state: { lastRead: { ...lastRead, startTime: NOW - 30_000, nextTime: NOW + 3_600_000 } },
      keyRecoveryTime: NOW - minutes * 60_000,
    },
    step: "GetAccount sa-1",
  })),
  ...[0.9, 4.9, 14.9, 59.9, 61].map((minutes) => ({
    name: `the account is not read ${minutes} minutes after it`,
    seen: {
      account,
      state: { lastRead: { ...lastRead, startTime: NOW - 30_000, nextTime: NOW + 3_600_000 } },
      keyRecoveryTime: NOW - minutes * 60_000,
    },
    step: "Settled",
  })),
  ...[1, 5, 15, 60].map((minutes) => ({
    name: `all accounts are listed ${minutes} minutes after a creation with an unknown outcome was closed`,
    seen: {
      account,
      state: { ...state, listTime: NOW - 30_000 },
      recoveryTime: NOW - minutes * 60_000,
    },
    step: "ListAccounts",
  })),
  {
    name: "all accounts are listed once each time",
    seen: { account, state, recoveryTime: NOW - 60_000 },
    done: { listTime: NOW },
    step: "Settled",
  },
  ...[0.9, 4.9, 14.9, 59.9, 61, 25 * 60].map((minutes) => ({
    name: `they are not listed ${minutes} minutes after it`,
    seen: {
      account,
      state: { ...state, listTime: minutes > 61 ? undefined : NOW - 30_000 },
      recoveryTime: NOW - minutes * 60_000,
    },
    step: "Settled",
  })),
  {
    name: "a key from the future waits for the clock",
    seen: { account, state, unlistedKeyTime: NOW + 1_000 },
    step: "Settled",
  },
])("$name", ({ step, ...given }) => {
  expect(toText(stepOf(given))).toBe(step);
});

const listed = (changes: Partial<IamServiceAccount> = {}): IamServiceAccount => ({
  saId: "sa-1",
  tpn: "tpn:r1:org-1:prj-1:sa/sa-1",
  orgId: "org-1",
  projectId: "prj-1",
  name: accountName,
  status: "active",
  ...changes,
});
const listing = (...accounts: IamServiceAccount[]) => ({ ok: true, accounts }) as const;
const unlisted = { ok: false, code: "MalformedResponse" } as const;
const answer = (detail: Partial<IamServiceAccount> | undefined): AccountSnapshot["answer"] => ({
  detail: detail === undefined ? undefined : { ...listed(detail), keyIds: ["sak_1"] },
});
const ours = { description: describeAccount(undefined, key, attempt.id) };
const theirs = describeAccount("for", { namespace: "team-b", name: "ci-bot" }, attempt.id);
const looked = { lookTime: NOW };

test.each<Case>([
  {
    name: "a creation is announced before it is sent",
    seen: { listing: listing() },
    step: "RecordAttempt",
  },
  {
    name: "a creation that this run has announced is sent",
    seen: { listing: listing(), attempt: { ...attempt, startTime: NOW } },
    done: { announced: attempt.id },
    step: "CreateAccount",
  },
  {
    name: "a console that cannot be listed does not prevent creation",
    seen: { listing: unlisted },
    step: "RecordAttempt",
  },
  {
    name: "a name that is taken is not taken again",
    seen: { listing: listing(listed()) },
    step: "Stalled AccountExists",
  },
  {
    name: "a lost status is found again by the marker",
    seen: { listing: listing(listed(ours)) },
    step: "RecordAccount Recovered",
  },
  {
    name: "an attempt that took effect is adopted",
    seen: { attempt, listing: listing(listed(ours)) },
    step: "RecordAccount Recovered",
  },
  {
    name: "an attempt without effect is followed by another one",
    seen: { attempt, listing: listing() },
    step: "RecordAttempt",
  },
  {
    name: "an attempt beside an account of that name ends without a second one",
    seen: { attempt, listing: listing(listed({ description: "by hand" })) },
    step: "CloseAttempt",
  },
  {
    name: "an attempt with two possible outcomes is for a person",
    seen: { attempt, listing: listing(listed(), listed({ saId: "sa-2" })) },
    step: "Stalled AmbiguousServiceAccount",
  },
  {
    name: "an attempt that cannot be looked up is never repeated",
    seen: { attempt, listing: unlisted },
    step: "Stalled CreateOutcomeUnknown",
  },
  {
    name: "an import is recorded",
    spec: { saId: "sa-1" },
    seen: { answer: answer({}) },
    step: "RecordAccount Imported",
  },
  {
    name: "an import of nothing is for a person",
    spec: { saId: "sa-1" },
    seen: { answer: answer(undefined) },
    step: "Stalled ServiceAccountNotFound",
  },
  {
    name: "an import from another organization is refused",
    spec: { saId: "sa-1" },
    seen: { answer: answer({ orgId: "org-2" }) },
    step: "Stalled OrganizationMismatch",
  },
  {
    name: "an import from another project than the one named is refused",
    spec: { saId: "sa-1", projectId: "prj-1" },
    seen: { answer: answer({ projectId: "prj-2" }) },
    step: "Stalled ProjectMismatch",
  },
  {
    name: "an import from any project is fine where none is named",
    spec: { saId: "sa-1" },
    seen: { answer: answer({ projectId: "prj-2" }) },
    step: "RecordAccount Imported",
  },
  {
    name: "a known account that vanished is never created again by itself",
    seen: { account, answer: answer(undefined) },
    done: looked,
    step: "Stalled ServiceAccountGone",
  },
  {
    name: "an account of another name is not the object's",
    seen: { account, answer: answer({ name: "other" }) },
    done: looked,
    step: "Stalled ServiceAccountMismatch",
  },
  {
    name: "nor is one that was made for another object",
    seen: { account, answer: answer({ description: theirs }) },
    done: looked,
    step: "Stalled ServiceAccountMismatch",
  },
  {
    name: "nor is one of another project than the one named",
    spec: { projectId: "prj-1" },
    seen: { account, answer: answer({ projectId: "prj-2" }) },
    done: looked,
    step: "Stalled ProjectMismatch",
  },
  {
    name: "another project than the connection's present one is no difference",
    seen: { account, answer: answer({ projectId: "prj-2" }) },
    done: looked,
    step: "Settled",
  },
  {
    name: "an account that was made for the object before it was restored is its own",
    seen: {
      account,
      answer: answer({ description: describeAccount("builds", key, attemptId("u0", "a")) }),
    },
    done: looked,
    step: "Settled",
  },
  {
    name: "a description that somebody has edited is no difference",
    seen: { account, answer: answer({ description: "by hand" }) },
    done: looked,
    step: "Settled",
  },
  {
    name: "a console that tells neither name nor description proves nothing",
    seen: { account, answer: { detail: { saId: "sa-1", keyIds: undefined } } },
    done: looked,
    step: "Settled",
  },
  {
    name: "an import may have any name and any maker",
    spec: { saId: "sa-1" },
    seen: { account, answer: answer({ name: "other", description: theirs }) },
    done: looked,
    step: "Settled",
  },
  {
    name: "what was found holds until the next look",
    seen: {
      account,
      state: { lastRead: { ...lastRead, finding: stalled("ServiceAccountGone", "gone") } },
    },
    step: "Stalled ServiceAccountGone",
  },
  {
    name: "an account that is not active is said to be so",
    seen: { account: { ...account, state: "locked" }, state },
    step: "Stalled ServiceAccountNotActive",
  },
  {
    name: "an account whose object has lost the finalizer gets it again",
    seen: { account, answer: answer({}), object: unheld },
    done: looked,
    step: "RecordAccount FinalizerMissing",
  },
  {
    name: "an account of a suspended object is only looked at",
    seen: { account, answer: answer({}), object: unheld },
    spec: { suspend: true },
    done: looked,
    step: "Settled",
  },
])("$name", ({ step, ...given }) => {
  expect(toText(stepOf(given))).toBe(step);
});

test("an attempt may take effect until its call has timed out", () => {
  const seen = { attempt: { ...attempt, startTime: NOW - 5_000 } };
  expect(stepOf({ seen })).toMatchObject({ afterMs: 20_000 });
});

test("a creation carries organization, project, name and marker", () => {
  const spec = { name: "bot", projectId: "prj-2", description: "builds" };
  const seen = { attempt: { id: "a-1", startTime: NOW, described: undefined } };
  expect(stepOf({ seen, spec, done: { announced: "a-1" } })).toMatchObject({
    account: {
      orgId: "org-1",
      projectId: "prj-2",
      name: "bot",
      description: "builds k8s team-a/ci-bot#a-1",
    },
  });
});
