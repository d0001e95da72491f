/** Why a key's calls are denied: the checks in the order of the console's documentation. */
import { accountInUse } from "../../api/account-in-use.ts";
import type { ApiKey } from "../../api/api-key.ts";
import { findCondition } from "../../api/conditions.ts";
import type { ServiceAccount } from "../../api/service-account.ts";
import { isIamError } from "../../console/errors.ts";
import type { KeyPair, LiveBindings } from "../../console/model.ts";
import { isKubeError } from "../../kube/errors.ts";
import type { Invocation } from "../cli/command.ts";
import { Failure } from "../cli/errors.ts";
import type { Io } from "../cli/io.ts";
import { boundOf, boundText, isGone, isReadable, notReadText } from "../cluster/bound-policies.ts";
import type { Cluster } from "../cluster/cluster.ts";
import { commandAbout, nameOf } from "../cluster/kinds.ts";
import { readObject } from "../cluster/read.ts";
import { readBody } from "../console/body.ts";
import { readCredentials, readTarget } from "../console/connection-target.ts";
import { readConnection } from "../console/from-cluster.ts";
import { type PolicyRecord, readPolicyRecords } from "../console/policy-records.ts";
import { type ConsoleSession, openSession } from "../console/session.ts";
import { type Finding, failed, judgeReadiness, ok, skipped, unknown } from "./finding.ts";
import type { Diagnosis } from "./installation.ts";
import { judgePartition, judgePolicies } from "./policies.ts";
import { examineSecret } from "./secret.ts";

interface Subject {
  readonly invocation: Invocation;
  readonly apiKey: ApiKey;
  readonly account: ServiceAccount;
  readonly session: ConsoleSession;
}

/**
 * Goes on without the objects that cannot be read, and reports them. Rejects with KubeError, and with Failure if the
 * ApiKey does not exist.
 */
export async function examineDenial(
  invocation: Invocation,
  cluster: Cluster,
  name: string,
): Promise<Diagnosis> {
  const apiKey = await readObject(cluster, "ApiKey", name);
  const examined = await examineSecret(cluster, apiKey);
  const findings: Finding[] = [judgeReadiness(apiKey), examined.finding];
  const owner = accountInUse(apiKey) ?? "";
  const account = await readOr(readObject(cluster, "ServiceAccount", owner), (judge, why) =>
    findings.push(
      judge(
        `iamsa/${owner}`,
        `${clauseOf(why)}; the checks below need its status and its connection`,
      ),
    ),
  );
  const session =
    account &&
    (await readOr(connect(invocation, cluster, account), (judge, why) =>
      findings.push(judge("Console", `${clauseOf(why)}; the checks below need the console`)),
    ));
  if (account === undefined || session === undefined)
    return { findings: [...findings, ...judgeStatus(invocation, apiKey, account)], answers: [] };
  await using _ = session;
  if (examined.pair !== undefined)
    findings.push(await tryPair(session, examined.pair, invocation.io));
  findings.push(...(await askConsole({ invocation, apiKey, account, session })));
  invocation.io.progress(undefined);
  return { findings, answers: [...session.answers] };
}

/** Calls as a workload does. */
async function tryPair({ target }: ConsoleSession, pair: KeyPair, io: Io): Promise<Finding> {
  await using session = openSession(target, { user: undefined, key: pair }, io);
  return await answered(
    session,
    async () => {
      try {
        await session.client.searchActions({ q: "a", pageSize: 1, key: pair });
      } catch (error) {
        if (isIamError(error, "Unauthenticated")) return failed(steps.pair, error.message);
        // A denial is about the policies: the pair was accepted.
        if (!isIamError(error, "PermissionDenied")) throw error;
      }
      return ok(steps.pair, `the console accepts the pair of key ${pair.keyId} in the Secret`);
    },
    (text) => unknown(steps.pair, text),
  );
}

async function connect(
  { io, options }: Invocation,
  cluster: Cluster,
  account: ServiceAccount,
): Promise<ConsoleSession> {
  const ref = account.spec.connectionRef;
  const spec = await readConnection(cluster, ref);
  const target = await readTarget(cluster, ref, spec, options);
  const user = await readCredentials(cluster, ref, spec, options);
  return openSession(target, { user, key: undefined }, io);
}

async function askConsole(subject: Subject): Promise<readonly Finding[]> {
  const { bindings, finding } = await checkBindings(subject);
  const policies = await readPolicies(subject);
  return [
    finding,
    ...policiesFindings(subject, bindings, policies),
    await checkOwner(subject),
    ...checkHeaders(subject, bindings, policies),
    await checkAction(subject),
    await checkDecision(subject),
  ];
}

const steps = {
  pair: "Pair",
  bindings: "1. Bindings",
  policies: "2. Policies",
  owner: "3. Key's account",
  headers: "4. Headers",
  action: "Action",
  decision: "Decision",
} as const;

const UNREAD = "the console was not called";
const NO_ACTION = skipped(steps.action, "give the denied action with --action");
const NO_BODY = skipped(steps.decision, "give the question by --body to have the console decide");

/** Without the console: the operator's last observations. */
function judgeStatus(
  { options: { action, body } }: Invocation,
  apiKey: ApiKey,
  account: ServiceAccount | undefined,
): readonly Finding[] {
  const { bindings, liveKeyIds } = account?.status ?? {};
  const keyId = apiKey.status?.current?.keyId;
  const isListed = keyId !== undefined && liveKeyIds?.includes(keyId);
  return [
    account === undefined || bindings === undefined
      ? unknown(steps.bindings, UNREAD)
      : isReadable(account) || isGone(account)
        ? judgeBindings(account, boundOf(account), "the operator last read")
        : unknown(steps.bindings, notReadText(account)),
    unknown(steps.policies, UNREAD),
    isListed
      ? ok(steps.owner, `the operator last read key ${keyId} in the account's list of keys`)
      : unknown(steps.owner, UNREAD),
    unknown(steps.headers, UNREAD),
    action === undefined ? NO_ACTION : unknown(steps.action, UNREAD),
    body === undefined ? NO_BODY : unknown(steps.decision, UNREAD),
  ];
}

function clauseOf(sentence: string): string {
  return sentence.replace(/\.$/, "");
}

/** `undefined` after a report about what cannot be read. */
async function readOr<T>(
  reading: Promise<T>,
  report: (judge: typeof unknown, why: string) => void,
): Promise<T | undefined> {
  try {
    return await reading;
  } catch (error) {
    if (isKubeError(error, "Forbidden"))
      report(unknown, `you do not have permission to read it (${error.message})`);
    else if (error instanceof Failure) report(failed, error.message);
    else throw error;
    return undefined;
  }
}

async function checkBindings({ account, session }: Subject) {
  const { tpn } = account.status ?? {};
  const unreadable: LiveBindings = { readable: false };
  if (tpn === undefined) {
    const text = `iamsa/${account.metadata.name} does not have a resource name (TPN) yet`;
    return { bindings: unreadable, finding: failed(steps.bindings, text) };
  }
  return answered(
    session,
    async () => {
      const bindings = await session.client.listBindings(tpn);
      return {
        bindings,
        finding: bindings.readable
          ? judgeBindings(account, bindings.policyIds, "bound")
          : unknown(steps.bindings, "the console's answer cannot be read"),
      };
    },
    (text) => ({ bindings: unreadable, finding: unknown(steps.bindings, text) }),
  );
}

function judgeBindings(
  account: ServiceAccount,
  policyIds: readonly string[],
  source: string,
): Finding {
  const { metadata, spec } = account;
  if (policyIds.length > 0) return ok(steps.bindings, `${source}: ${policyIds.join(", ")}`);
  if (isGone(account))
    return failed(steps.bindings, boundText(account), commandAbout("replace-account", account));
  return failed(
    steps.bindings,
    "no policy is bound, so everything is denied",
    spec.access === "Revoked"
      ? `kubectl iam restore-access ${metadata.name} -n ${metadata.namespace}`
      : `Create a PolicyBinding for iamsa/${metadata.name}, or see why an existing one binds nothing: kubectl iam status -n ${metadata.namespace}`,
  );
}

function readPolicies({ session }: Subject): Promise<readonly PolicyRecord[] | string> {
  const { orgId } = session.target;
  return answered<readonly PolicyRecord[] | string>(
    session,
    async () => {
      await session.client.listPolicies({ orgId });
      return readPolicyRecords(session.answers.at(-1)?.json);
    },
    (text) => text,
  );
}

function policiesFindings(
  { invocation }: Subject,
  bindings: LiveBindings,
  policies: readonly PolicyRecord[] | string,
): readonly Finding[] {
  if (typeof policies === "string") return [unknown(steps.policies, policies)];
  const bound = bindings.readable ? bindings.policyIds : [];
  return judgePolicies(steps.policies, bound, policies, invocation.options.action);
}

async function checkOwner({ apiKey, account, session }: Subject): Promise<Finding> {
  const keyId = apiKey.status?.current?.keyId;
  const { saId } = account.status ?? {};
  if (saId === undefined)
    return failed(
      steps.owner,
      `${nameOf(account)} does not have an account in the console yet`,
      commandAbout("status", account),
    );
  if (keyId === undefined)
    return failed(
      steps.owner,
      "the ApiKey does not have a key yet",
      commandAbout("status", apiKey),
    );
  return answered(
    session,
    async () => {
      const detail = await session.client.getServiceAccount(saId);
      if (detail === undefined)
        return failed(steps.owner, `account ${saId} does not exist in the console`);
      const state = detail.status ?? "of unknown status";
      if (detail.keyIds === undefined)
        return unknown(steps.owner, `account ${saId} is ${state}; the console lists no keys`);
      if (!detail.keyIds.includes(keyId))
        return failed(
          steps.owner,
          `key ${keyId} is not a key of account ${saId}`,
          remedyFor(apiKey),
        );
      return state === "active"
        ? ok(steps.owner, `key ${keyId} belongs to account ${saId}, which is active`)
        : failed(steps.owner, `account ${saId} is ${state}`);
    },
    (text) => unknown(steps.owner, text),
  );
}

/** What the ApiKey reports about its key, or the command that has the operator check the key. */
function remedyFor(apiKey: ApiKey): string {
  const refusal = ["Ready", "Verified"]
    .map((type) => findCondition(apiKey.status?.conditions, type))
    .find((condition) => condition?.reason === "KeyRefused");
  return (
    refusal?.message ??
    `The operator checks the key, and issues another if the console rejects it: ${commandAbout("reconcile", apiKey)}`
  );
}

function checkHeaders(
  { session: { target } }: Subject,
  bindings: LiveBindings,
  policies: readonly PolicyRecord[] | string,
): readonly Finding[] {
  const { domainId, domainName, partitionId } = target;
  const headers = `your program has to send X-Domain-Id: ${domainId} and X-Domain-Name: ${domainName}`;
  const bound = bindings.readable && typeof policies !== "string" ? bindings.policyIds : [];
  const records = typeof policies === "string" ? [] : policies;
  return [ok(steps.headers, headers), judgePartition(steps.headers, bound, records, partitionId)];
}

async function checkAction({ invocation, session }: Subject): Promise<Finding> {
  const { action } = invocation.options;
  if (action === undefined) return NO_ACTION;
  return answered(
    session,
    async () => {
      const q = action.split(".").at(-1) || action;
      const found = await session.client.searchActions({ q, pageSize: 1_000 });
      const near = found.map(({ actionId }) => actionId);
      if (near.includes(action)) return ok(steps.action, `the catalogue has ${action}`);
      const hint = near.length === 0 ? "" : `; it has ${near.slice(0, 5).join(", ")}`;
      return failed(
        steps.action,
        `${action} is not in the catalogue${hint}`,
        "Give the identifier as the catalogue has it.",
      );
    },
    (text) => unknown(steps.action, text),
  );
}

async function checkDecision({ invocation, session }: Subject): Promise<Finding> {
  if (invocation.options.body === undefined) return NO_BODY;
  const body = await readBody(invocation);
  return answered(
    session,
    async () => ok(steps.decision, JSON.stringify(await session.client.evaluatePolicy(body))),
    (text) => failed(steps.decision, text),
  );
}

/** Makes a call; a failure becomes a text with the request's ID. */
async function answered<T>(
  { answers }: ConsoleSession,
  work: () => Promise<T>,
  instead: (text: string) => T,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!isIamError(error)) throw error;
    const id = answers.at(-1)?.requestId;
    const isNamed = id === undefined || error.message.includes(id);
    return instead(isNamed ? error.message : `${error.message} (request ${id})`);
  }
}
