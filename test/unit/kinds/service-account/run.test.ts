import { expect, test } from "vitest";
import { IamError } from "../../../../src/console/errors.ts";
import type { IamServiceAccount } from "../../../../src/console/model.ts";
import { judgeAnswer } from "../../../../src/kinds/service-account/rules/account.ts";
import type { AccountSnapshot } from "../../../../src/kinds/service-account/rules/snapshot.ts";
import { stalled } from "../../../../src/reconciler/rules/waiting.ts";
import { attemptId, describeAccount } from "../../../../src/resources/marker.ts";
import { DAY } from "../../../../src/util/time.ts";
import { connectionSpec } from "../connection/specs.ts";
import {
  access,
  account,
  accountName,
  claimOf,
  type Given,
  key,
  NOW,
  play,
  serviceAccount,
  snapshotOf,
} from "./objects.ts";

const attempt = {
  id: attemptId("u1", "a"),
  startTime: NOW - 60_000,
  name: accountName,
  described: undefined,
};
const young = { ...attempt, startTime: NOW - 5_000 };
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
const justRead = { lastRead: { ...lastRead, startTime: NOW - 29_000 } };
const ofHour = { ...lastRead, startTime: NOW - 30_000, nextTime: NOW + 3_600_000 };
const changed = serviceAccount({ metadata: { generation: 2 } });
const withoutFinalizer = serviceAccount({ metadata: { finalizers: [] } });
const idle = { account, state };
const gone = stalled("ServiceAccountGone", "gone");
const elsewhere = "https://fake.example.com";

type Case = [string, Given, string];

function stepOf(given: Given) {
  return play(given).step;
}

/** `GetAccount sa-1`, `Imported, Settled`, `Stalled AccountExists`. */
function toText(given: Given): string {
  const { step, known } = play(given);
  const { kind, saId, state, reason } = step;
  const became = known.became === undefined ? "" : `${known.became}, `;
  if (kind === "Waiting") return `${became}${state} ${reason}`;
  return `${became}${kind}${kind === "GetAccount" ? ` ${saId}` : ""}`;
}

const created = (id: string) => ({ created: { attempt: id, account: { saId: "sa-1" } } });
const read = (changes: object) => ({ account, state: { lastRead: { ...lastRead, ...changes } } });
const readAfter = (minutes: number) => ({
  account,
  state: { lastRead: ofHour },
  keyRecoveryTime: NOW - minutes * 60_000,
});
const listAfter = (minutes: number, listTime?: number) => ({
  account,
  state: { ...state, listTime },
  recoveryTime: NOW - minutes * 60_000,
});
const fake = { ...account, consoleURL: elsewhere };
const another = { ...account, saId: "sa-2" };
const overdue = { ...idle, listTimes: { creationTime: 0, listTime: 0 } };

const listed = (changes: Partial<IamServiceAccount> = {}): IamServiceAccount => ({
  saId: "sa-1",
  tpn: "tpn:r1:org-1:prj-1:sa/sa-1",
  orgId: "org-1",
  projectId: "prj-1",
  name: accountName,
  status: "active",
  ...changes,
});
const listing = (...changes: Partial<IamServiceAccount>[]) => ({
  listing: { ok: true, accounts: changes.map(listed) } as const,
});
const unlisted = { listing: { ok: false, code: "MalformedResponse" } } as const;
const answer = (detail: Partial<IamServiceAccount> | undefined): Given => ({
  answer: { detail: detail && { ...listed(detail), keyIds: ["sak_1"] } },
});
/** The account is known, and is read in this run. */
const looked = (detail?: Partial<IamServiceAccount>) => ({ account, ...answer(detail) });

test.each<Case>([
  ["a new object is looked for by name", {}, "ListAccounts"],
  ["an import is looked for by id", { spec: { saId: "sa-9" } }, "GetAccount sa-9"],
  ["a young attempt is given time", { attempt: young }, "Reconciling CreateOutcomeUnknown"],
  ["an old attempt is looked up", { attempt }, "ListAccounts"],
  [
    "a response is not asked for again",
    { attempt, state: created(attempt.id) },
    "Created, GetAccount sa-1",
  ],
  [
    "an account of another console that this one does not have is not read again at once",
    { account: fake, state: { lastRead: { ...lastRead, finding: gone } } },
    "Stalled ServiceAccountGone",
  ],
  ["one to another attempt says nothing", { attempt, state: created("other") }, "ListAccounts"],
  ["a known account is read after a start", { account }, "GetAccount sa-1"],
  ["an idle run asks nothing", idle, "Settled"],
  [
    "an account that another object had is read",
    { ...idle, object: serviceAccount({ status: { saId: "sa-1", ownership: "Claimed" } }) },
    "GetAccount sa-1",
  ],
  ["a changed spec reads again", { ...idle, object: changed }, "GetAccount sa-1"],
  ["a request reads again", { ...idle, request: "now" }, "GetAccount sa-1"],
  ["a request is met by one read", { ...idle, request: "now", ...looked({}) }, "Settled"],
  ["the time comes to read again", read({ nextTime: NOW }), "GetAccount sa-1"],
  ["an account found at another console is read", { account: fake, state }, "GetAccount sa-1"],
  ["so is one read at another console", read({ consoleURL: elsewhere }), "GetAccount sa-1"],
  ["so is one that a status has come to name", { account: another, state }, "GetAccount sa-2"],
  [
    "a key since the last read is looked for",
    { ...idle, unlistedKeyTime: NOW - 20_000 },
    "GetAccount sa-1",
  ],
  [
    "keys that follow each other wait",
    { account, state: justRead, unlistedKeyTime: NOW - 1_000 },
    "Settled",
  ],
  ["a key older than the last read is not", { ...idle, unlistedKeyTime: NOW - 41_000 }, "Settled"],
  [
    "a key from the future waits for the clock",
    { ...idle, unlistedKeyTime: NOW + 1_000 },
    "Settled",
  ],
  ["a request to an ApiKey reads again", { ...idle, keyRequests: ["k1 now"] }, "GetAccount sa-1"],
  ["it is met once", { ...read({ keyRequests: ["k1 now"] }), keyRequests: ["k1 now"] }, "Settled"],
  ...[1, 5, 15, 60].flatMap((minutes): Case[] => [
    [`read ${minutes} min after an issue was closed`, readAfter(minutes), "GetAccount sa-1"],
    [
      `listed ${minutes} min after a creation was closed`,
      listAfter(minutes, NOW - 30_000),
      "ListAccounts",
    ],
  ]),
  ...[0.9, 4.9, 14.9, 59.9, 61].flatMap((minutes): Case[] => [
    [`not read ${minutes} min after an issue was closed`, readAfter(minutes), "Settled"],
    [
      `not listed ${minutes} min after a creation was closed`,
      listAfter(minutes, NOW - 30_000),
      "Settled",
    ],
  ]),
  ["not listed a day after a creation was closed", listAfter(25 * 60), "Settled"],
  ["a list of all accounts is due", overdue, "AuditAccounts"],
  ["not before it is due", { ...idle, listTimes: { creationTime: NOW, listTime: NOW } }, "Settled"],
  ["it is tried once in a run", { ...overdue, answers: { AuditAccounts: {} } }, "Settled"],
  ["not beside another list", { ...overdue, ...listAfter(1), ...listing() }, "Settled"],
  ["all accounts are listed once each time", { ...listAfter(1), ...listing() }, "Settled"],
])("%s", (_, given, step) => expect(toText(given)).toBe(step));

const ours = { description: describeAccount(undefined, key, attempt.id) };
const theirs = describeAccount("for", { namespace: "team-b", name: "ci-bot" }, attempt.id);
const restored = describeAccount("builds", key, attemptId("u0", "a"));
const own = { description: describeAccount("builds", key, attemptId("u1", "a")) };
const byHand = { description: "by hand" };
/** The intent is stored. */
const recorded = (changes: object = {}): Given => ({
  answers: {
    RecordAttempt: (known: AccountSnapshot) => ({ ...known, attempt: { ...attempt, ...changes } }),
  },
});
test("an account of another cluster is said to be one as far as its description shows", () => {
  const description = (cluster?: string) => describeAccount("builds", key, attempt.id, cluster);
  const said = (seen: Given, cluster?: string) => {
    const { kind, message } = stepOf({
      ...listing({ description: description(cluster) }),
      ...seen,
    });
    return message ?? kind;
  };
  const other = said({ clusterName: "green" }, "blue");
  expect(other).toContain("named team-a-ci-bot (sa-1). The description names cluster blue.");
  expect(other).toContain("set accountNamePrefix of the connection; otherwise, delete this");
  const named = said({ clusterName: "green", spec: { name: accountName } }, "blue");
  expect(named).toContain("The description names cluster blue. Delete this ServiceAccount");
  expect(said({ clusterName: "green" })).toBe("GetAccount");
  expect(said(listing(byHand))).not.toContain("accountNamePrefix");
});

test.each([true, false])("how to import an account that exists is said, granted: %s", (granted) => {
  const grant = { ...access.grant, importServiceAccounts: granted };
  const connection = { ok: true, access: { ...access, grant } } as const;
  const { message } = stepOf({ ...listing(byHand), connection });
  expect(String(message).includes("Importing requires importServiceAccounts: true")).toBe(!granted);
});

test("an account remembers the other cluster that its description names", () => {
  const seenIn = (clusterName: string | undefined, cluster?: string) => {
    const description = describeAccount("builds", key, attempt.id, cluster);
    const { account, answer } = looked({ description });
    return judgeAnswer(snapshotOf({ account, answer, clusterName }))?.account?.describedCluster;
  };
  expect(seenIn("green", "blue")).toBe("blue");
  expect(seenIn(undefined, "blue")).toBe("blue");
  expect(seenIn("blue", "blue")).toBeUndefined();
  expect(seenIn("blue")).toBeUndefined();
});

test("the status names the account, whatever cluster its description names", () => {
  const description = describeAccount("builds", key, attempt.id, "blue");
  expect(toText({ ...looked({ description }), clusterName: "green" })).toBe("Settled");
  const theirs = describeAccount("for", { namespace: "team-b", name: "bot" }, "a-1", "blue");
  expect(stepOf(looked({ description: theirs }))).toMatchObject({
    message: expect.stringContaining("was made for ServiceAccount team-b/bot of cluster blue"),
  });
});

const imported = { spec: { saId: "sa-1" } };
const ofProject = { spec: { projectId: "prj-1" } };
const other = serviceAccount({ metadata: { name: "other", uid: "u2" }, status: { saId: "sa-1" } });
const inProject = { spec: { saId: "sa-1", projectId: "prj-1" } };
const moved = { projectId: "prj-2" };
const silent = { answer: { detail: { saId: "sa-1", keyIds: undefined } } };
test.each<Case>([
  ["a creation is recorded before it is sent", listing(), "RecordAttempt"],
  ["a recorded creation is sent", { ...listing(), ...recorded() }, "CreateAccount"],
  ["a console without a list does not prevent creation", unlisted, "RecordAttempt"],
  ["a name that is taken is not taken again", listing({}), "Stalled AccountExists"],
  ["a lost status is found again by the marker", listing(ours), "Recovered, GetAccount sa-1"],
  ["an attempt took effect", { attempt, ...listing(ours) }, "Recovered, GetAccount sa-1"],
  ["an attempt took effect undescribed", { attempt, ...listing({}) }, "Recovered, GetAccount sa-1"],
  ["an attempt had no effect", { attempt, ...listing() }, "RecordAttempt"],
  [
    "an attempt beside an account of that name",
    { attempt, ...listing(byHand) },
    "Stalled AccountExists",
  ],
  [
    "an attempt with two possible outcomes",
    { attempt, ...listing({}, { saId: "sa-2" }) },
    "Stalled AmbiguousServiceAccount",
  ],
  [
    "an attempt whose only possible account another object names",
    { attempt, ...listing({}), otherClaims: new Map([["sa-1", [claimOf(other)]]]) },
    "Stalled AmbiguousServiceAccount",
  ],
  ["an attempt without a list", { attempt, ...unlisted }, "Stalled CreateOutcomeUnknown"],
  ["an import is recorded", { ...imported, ...answer({}) }, "Imported, Settled"],
  ["an import of nothing", { ...imported, ...answer(undefined) }, "Stalled ServiceAccountNotFound"],
  [
    "an import from another organization",
    { ...imported, ...answer({ orgId: "org-2" }) },
    "Stalled OrganizationMismatch",
  ],
  ["an import from another project", { ...inProject, ...answer(moved) }, "Stalled ProjectMismatch"],
  ["an import from any project", { ...imported, ...answer(moved) }, "Imported, Settled"],
  ["an account that vanished is not created again", looked(), "Stalled ServiceAccountGone"],
  ["an account of another name", looked({ name: "other" }), "Stalled ServiceAccountMismatch"],
  ["an account of another name with its own marker", looked({ name: "other", ...own }), "Settled"],
  ["a name in another spelling", looked({ name: "Team-A-CI-Bot " }), "Settled"],
  [
    "an account of another object",
    looked({ description: theirs }),
    "Stalled ServiceAccountMismatch",
  ],
  ["an account of another project", { ...ofProject, ...looked(moved) }, "Stalled ProjectMismatch"],
  ["an account of its project", { ...ofProject, ...looked({}) }, "Settled"],
  ["its project is not shown", { ...ofProject, ...looked(), ...silent }, "Settled"],
  ["the connection has another project now", looked(moved), "Settled"],
  ["the object was restored", looked({ description: restored }), "Settled"],
  ["a description was edited", looked(byHand), "Settled"],
  ["neither name nor description is shown", { ...looked(), ...silent }, "Settled"],
  [
    "an import may have any name and maker",
    { ...imported, ...looked({ name: "other", description: theirs }) },
    "Settled",
  ],
  [
    "what was found holds until the next read",
    read({ finding: gone }),
    "Stalled ServiceAccountGone",
  ],
  [
    "an account is not active",
    { ...idle, account: { ...account, state: "locked" } },
    "Stalled ServiceAccountNotActive",
  ],
  ["a lost finalizer comes back", { ...looked({}), object: withoutFinalizer }, "AddFinalizer"],
  [
    "an import adds the finalizer",
    { ...imported, ...answer({}), object: withoutFinalizer },
    "AddFinalizer",
  ],
  [
    "not while suspended",
    { ...looked({}), object: withoutFinalizer, spec: { suspend: true } },
    "Settled",
  ],
])("%s", (_, given, step) => expect(toText(given)).toBe(step));

test("an import is not recorded before the object has its finalizer", () => {
  const { step, known } = play({ ...imported, ...answer({}), object: withoutFinalizer });
  expect([step.kind, known.account]).toEqual(["AddFinalizer", undefined]);
});

test.each<[string, Given, number | undefined]>([
  [
    "a creation with an unknown outcome is followed up by lists",
    { attempt, ...listing(ours) },
    NOW,
  ],
  ["an import is not", { ...imported, ...answer({}) }, undefined],
])("%s", (_, given, time) => {
  expect(play(given).known.recoveryTime).toBe(time);
});

const timeout = (text: string) => {
  const spec = connectionSpec({ limits: { timeout: text } });
  return { connection: { ok: true, access: { ...access, spec } } } as const;
};

test.each<[string, Given, number]>([
  ["its call has timed out", { attempt: young }, 20_000],
  [
    "20 seconds have passed, however short the timeout",
    { attempt: young, ...timeout("1s") },
    15_000,
  ],
  [
    "as long from now, if its time is in the future",
    { attempt: { ...attempt, startTime: NOW + DAY } },
    25_000,
  ],
])("an attempt may take effect until %s", (_, given, afterMs) => {
  expect(stepOf(given)).toMatchObject({ reason: "CreateOutcomeUnknown", afterMs });
});

test.each<[string, Given, string]>([
  ["of an attempt has its name, however the console spells it", { attempt }, accountName],
  ["found without an attempt has the console's name: the prefix may have changed", {}, "CI-BOT"],
])("an account %s", (_, given, name) => {
  const { known } = play({ ...listing({ ...ours, name: "CI-BOT" }), ...given });
  expect(known.account).toMatchObject({ saId: "sa-1", name });
});

test("an attempt that has created nothing is closed, for lists that come later", () => {
  const { known } = play({ attempt, ...listing(byHand) });
  expect(known).toMatchObject({ attempt: undefined, recoveryTime: NOW });
});

test("an account is looked for, its attempt is recorded, and it is created without a further read", () => {
  const { step, known } = play({
    ...listing(),
    answers: {
      ...recorded().answers,
      CreateAccount: { account: listed(), lookTime: NOW },
    },
  });
  expect(step).toEqual({ kind: "Settled" });
  expect(known).toMatchObject({
    became: "Created",
    attempt: undefined,
    account: { saId: "sa-1", liveKeyIds: [] },
  });
});

const error = new IamError("InvalidArgument", "no", { operation: "createServiceAccount" });
const unreadable = { attemptId: attempt.id, message: "status 201", circumstances: "c" };

test.each<[string, object, object]>([
  ["that is rejected closes its attempt", { error }, { attempt: undefined }],
  [
    "whose response cannot be read leaves it open",
    { error, unreadable },
    { attempt: { id: attempt.id }, unreadableResponse: unreadable },
  ],
])("a creation %s, and the run fails", (_, CreateAccount, expected) => {
  const answers = { ...recorded().answers, CreateAccount };
  const { step, known } = play({ ...listing(), answers });
  expect(step).toEqual({ kind: "Failing", error });
  expect(known).toMatchObject(expected);
});

test("a creation carries the cluster's name in its marker", () => {
  expect(stepOf({ ...listing(), ...recorded(), clusterName: "blue" })).toMatchObject({
    description: `k8s@blue team-a/ci-bot#${attempt.id}`,
  });
});

test("a creation carries organization, project, name and marker", () => {
  const spec = { name: "bot", projectId: "prj-2", description: "builds" };
  expect(stepOf({ ...listing(), ...recorded({ id: "a-1" }), spec })).toEqual({
    kind: "CreateAccount",
    orgId: "org-1",
    projectId: "prj-2",
    name: "bot",
    description: "builds k8s team-a/ci-bot#a-1",
  });
});
