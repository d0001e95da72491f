/** Situations as sentences: `snapshot(withKey(), rotationAsked())`. */
import {
  type ApiKey,
  type ApiKeySpec,
  type ApiKeyStatus,
  apiKeyKind,
} from "../../../../src/api/api-key.ts";
import { API_VERSION, FINALIZER } from "../../../../src/api/meta.ts";
import { parseSpec } from "../../../../src/api/parse-spec.ts";
import type { PairEvidence } from "../../../../src/console/evidence.ts";
import { deleteApiKey } from "../../../../src/kinds/api-key/deletion.ts";
import { apiKeyEffects } from "../../../../src/kinds/api-key/effects/effects.ts";
import { report } from "../../../../src/kinds/api-key/rules/report.ts";
import type {
  ApiKeyEffects,
  ApiKeyKind,
  ApiKeyRun,
  ApiKeySnapshot,
  ReadyAccount,
} from "../../../../src/kinds/api-key/rules/snapshot.ts";
import type {
  CurrentKey,
  KeyStatus,
  SupersededKey,
} from "../../../../src/kinds/api-key/rules/status.ts";
import { reconcileApiKey } from "../../../../src/kinds/api-key/run.ts";
import type { IssuedPair } from "../../../../src/kinds/api-key/secret/pair.ts";
import { pendingSecret, targetSecret } from "../../../../src/kinds/api-key/secret/render.ts";
import { type SecretView, viewSecret } from "../../../../src/kinds/api-key/secret/view.ts";
import { defaultTiming } from "../../../../src/kinds/api-key/timing.ts";
import type { ClockReading } from "../../../../src/reconciler/clock-reading.ts";
import type { Answered } from "../../../../src/reconciler/effects.ts";
import type { Outcome } from "../../../../src/reconciler/rules/outcome.ts";
import { statusOf } from "../../../../src/reconciler/rules/report.ts";
import type { Secret } from "../../../../src/resources/resource-types.ts";
import { Redacted } from "../../../../src/util/redacted.ts";
import { DAY, type Instant } from "../../../../src/util/time.ts";
import { connectionSpec } from "../connection/specs.ts";
import { playRun, type Script } from "../play-run.ts";

export const NOW: Instant = Date.UTC(2026, 0, 10);
export const timing = defaultTiming;
export const owner = { namespace: "team-a", name: "ci", uid: "ci-uid" };
export const values = {
  saId: "sa-1",
  tpn: "tpn:sa-1",
  orgId: "org-1",
  projectId: "prj-1",
  baseURL: "https://console",
  domainId: "org-1",
  domainName: "acme",
  partitionId: "p1",
};

export const at = (ms = 0): ClockReading => ({
  now: NOW + ms,
  monotonic: 1_000_000 + ms,
  fraction: 0.5,
});

export function keySpec(changes: object = {}): ApiKeySpec {
  const spec = { serviceAccountRef: { name: "bot" }, ...changes };
  const parsed = parseSpec(apiKeyKind, { metadata: { name: "ci" }, spec });
  if (!parsed.ok) throw new Error(parsed.message);
  return parsed.spec;
}

export const account: ReadyAccount = {
  kind: "Ready",
  creator: undefined,
  connection: "ClusterConnection/default",
  connectionSpec: connectionSpec(),
  session: 0,
  saId: "sa-1",
  values,
  liveKeyIds: undefined,
  inactiveKeyIds: undefined,
  listsKeyStates: true,
  lastKeyListTime: undefined,
  callTimeoutMs: 15_000,
  maxExpiresInDays: 365,
  allowedSecretMetadata: [],
  canDisableKeys: false,
  canDeleteKeys: false,
};

export const ofBot = { serviceAccount: "bot", saId: "sa-1" };

/** Key number `revision`, issued so long before now. */
export function pair(revision: number, ageMs = DAY): IssuedPair {
  const issueTime = NOW - ageMs;
  const expirationTime = issueTime + 90 * DAY;
  const secret = new Redacted(`${revision}`.repeat(43).slice(0, 43));
  return { keyId: `sak_${revision}`, secret, issueTime, expirationTime, revision, ...ofBot };
}

export function current(revision: number, changes: Partial<CurrentKey> = {}): CurrentKey {
  const { secret: _, ...key } = pair(revision);
  return { ...key, ...ofBot, verificationTime: NOW - DAY, ...changes };
}

export function superseded(revision: number, changes: Partial<SupersededKey> = {}): SupersededKey {
  const { keyId, issueTime, expirationTime } = pair(revision, 40 * DAY);
  return {
    keyId,
    issueTime,
    expirationTime,
    supersededTime: NOW,
    state: "Live",
    answeredCall: undefined,
    stateTime: undefined,
    ...ofBot,
    ...changes,
  };
}

export const stored = (secret: Secret): Secret => ({
  ...secret,
  metadata: { ...secret.metadata, uid: "secret-uid", resourceVersion: "7" },
});

export const holding = (
  held: IssuedPair,
  spec = keySpec(),
  previous?: { keyId: string; secret: Redacted },
): SecretView =>
  viewSecret(
    stored(targetSecret(owner, spec, values, { pair: held, previous })),
    owner,
    spec,
    "target",
  );

export const staged = (held: IssuedPair, attemptId = "a1"): SecretView =>
  viewSecret(stored(pendingSecret(owner, keySpec(), held, attemptId)), owner, keySpec(), "pending");

export const foreign = (adoptable = true, hasConsent = false): SecretView => ({
  kind: "Foreign",
  why: "it lacks the label iam-operator.io/api-key: ci",
  adoptable,
  hasConsent,
  uid: "x",
  resourceVersion: "1",
  secret: { apiVersion: "v1", kind: "Secret", metadata: { name: "ci" } },
});

export const noKeys: KeyStatus = {
  current: undefined,
  attempt: undefined,
  lastAttemptId: undefined,
  unreadableResponse: undefined,
  superseded: [],
  orphaned: [],
  recentIssues: [],
  earlierRotateRequests: [],
  lastRecoveryTime: undefined,
  lastHandledRotateAt: undefined,
  rotationPending: false,
};

export const openAttempt = (revision: number) => ({
  id: "a1",
  revision,
  reason: "NoKeyYet",
  startTime: NOW,
  expiresInDays: 90,
  knownKeyIds: ["sak_old"],
  settled: undefined,
  ...ofBot,
});

export function object(status: ApiKey["status"] = undefined): ApiKey {
  return {
    apiVersion: API_VERSION,
    kind: "ApiKey",
    metadata: { ...owner, resourceVersion: "5", generation: 1, finalizers: [FINALIZER] },
    spec: keySpec(),
    ...(status === undefined ? {} : { status }),
  };
}

type Changes = Partial<Omit<ApiKeySnapshot, "status">> & { status?: Partial<KeyStatus> };

/** A fresh ApiKey with nothing at all; then what differs. */
export function snapshot(changes: Changes = {}): ApiKeySnapshot {
  return {
    object: object(),
    self: { ...owner, deletingSince: undefined, rotateToken: undefined },
    spec: keySpec(),
    account,
    target: { kind: "Absent" },
    pending: { kind: "Absent" },
    otherClaim: undefined,
    held: undefined,
    recovery: undefined,
    rejection: undefined,
    pendingRejection: undefined,
    lastCheckTime: undefined,
    regularCheckFrom: undefined,
    attemptsWithoutKey: undefined,
    unreadableResponse: undefined,
    notKept: undefined,
    rehearsal: undefined,
    keysBeforeRestore: [],
    lateKeys: [],
    explanation: undefined,
    isPlanned: false,
    secretsAreWatched: false,
    consumers: { mode: "none", known: undefined },
    ...changes,
    status: { ...noKeys, ...changes.status },
  };
}

/** Key 1 is delivered and verified. */
export function delivered(changes: Changes = {}): ApiKeySnapshot {
  return snapshot({
    target: holding(pair(1)),
    ...changes,
    status: { current: current(1), ...changes.status },
  });
}

/** Cases by what is expected of them, as rows of a test: what is expected, the title of the case, the case. */
export function rowsOf<T>(table: Readonly<Record<string, Readonly<Record<string, T>>>>) {
  return Object.entries(table).flatMap(([expected, cases]) =>
    Object.entries(cases).map(([title, each]) => [expected, title, each] as const),
  );
}

/** A situation, and the answers to the effects of the run. */
interface Scripted {
  readonly world: ApiKeySnapshot;
  readonly answers: Script;
}

/** The answer of an effect that changes nothing that matters here. */
export const same = (before: ApiKeySnapshot) => before;

/** The answer of Precheck if nothing stops the issue. */
export const prechecked = (before: ApiKeySnapshot): ApiKeySnapshot => ({
  ...before,
  precheck: { knownKeyIds: [], stop: undefined },
});

/** What a run knows that has checked the pair. */
export function checked(keyId: string, evidence: PairEvidence = "Accepted") {
  return new Map([[keyId, evidence]]);
}

export type World = ApiKeySnapshot | Scripted;

export function having(answers: Script, world: ApiKeySnapshot): Scripted {
  return { world, answers };
}

const withoutCoordination = apiKeyEffects({} as never);

/** The effects of a run over the ApiKey, and its end. */
export function play(given: World, reading: ClockReading = at()) {
  return playBy(reconcileApiKey, given, reading);
}

/** The same for an ApiKey that is being deleted. */
export function playDeletion(given: World, reading: ClockReading = at()) {
  return playBy(deleteApiKey, given, reading);
}

function playBy(run: typeof reconcileApiKey, given: World, reading: ClockReading) {
  const { world, answers } = "world" in given ? given : having({}, given);
  const parts = { effects: withoutCoordination, timing, readNow: () => reading };
  const clock = { now: () => reading.now, monotonic: () => reading.monotonic } as never;
  return playRun<ApiKeyKind>(run(world, parts), answers, { clock });
}

/** An effect or an end, as far as tests look into it. */
interface Played {
  readonly kind: string;
  readonly reason?: string;
  readonly message?: string;
  readonly because?: { readonly reason: string };
}

/** The first effect that the script does not answer, or the end. */
export function firstOf(given: World, played: Iterable<object> = play(given)) {
  const answers = "world" in given ? given.answers : {};
  for (const effect of played as Iterable<Played>) if (!(effect.kind in answers)) return effect;
  throw new Error("the script answers everything");
}

/** What an effect answers that is carried out. */
export async function answerOf<T>(
  part: ApiKeyEffects<T>,
  run: object,
): Promise<Answered<ApiKeyKind, T>> {
  const { does, input, snapshot } = effectOf(part);
  const answered =
    "read" in does
      ? does.read(input, snapshot, run as ApiKeyRun)
      : does.call(input, snapshot, run as ApiKeyRun);
  return (await answered) as Answered<ApiKeyKind, T>;
}

/** What a plan says of an effect, and assumes of it. */
export async function planOf(part: ApiKeyEffects<ApiKeySnapshot>, run: object) {
  const { does, input, snapshot } = effectOf(part);
  if ("read" in does) throw new Error("a read is not planned");
  const { answer, line } = await does.planned(input, snapshot, run as ApiKeyRun);
  return { answer: answer as ApiKeySnapshot, line };
}

function effectOf<T>(part: ApiKeyEffects<T>) {
  const next = part.next();
  if (next.done) throw new Error("it has no effect");
  return next.value;
}

/** The whole status that a run which came to this reports. */
export function reportedStatus(
  world: ApiKeySnapshot,
  outcome: Outcome,
  reading: ClockReading,
): ApiKeyStatus {
  const [entry] = report(world, outcome, reading, defaultTiming).objects;
  if (entry === undefined) throw new Error("nothing is reported");
  const suspended = entry.suspended ?? outcome.kind === "Suspended";
  return JSON.parse(JSON.stringify(statusOf({ ...entry, suspended }, reading)));
}
