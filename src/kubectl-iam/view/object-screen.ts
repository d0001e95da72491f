/** One object with everything that belongs to it, on one screen. Pure. */
import { accountInUse } from "../../api/account-in-use.ts";
import type { ApiKey } from "../../api/api-key.ts";
import { type Condition, findCondition } from "../../api/conditions.ts";
import type { Connection } from "../../api/connection.ts";
import type { KindName, Kinds } from "../../api/kinds.ts";
import type { PolicyBinding } from "../../api/policy-binding.ts";
import type { ResourceQuotaExport } from "../../api/resource-quota-export.ts";
import type { ServiceAccount } from "../../api/service-account.ts";
import { ended } from "../../util/ended.ts";
import type { Instant } from "../../util/time.ts";
import {
  accountText,
  boundOf,
  boundText,
  declaredText,
  isAbsent,
  isCurrent,
  isGone,
  isReadable,
  notReadText,
} from "../cluster/bound-policies.ts";
import type { IamEvent } from "../cluster/events.ts";
import { type AnyObject, nameOf, toText } from "../cluster/kinds.ts";
import type { World } from "../cluster/read.ts";
import { belongsTo } from "../cluster/relations.ts";
import { isRevoked, revocationOf } from "../cluster/revocation.ts";
import { windowTexts } from "../cluster/rotation.ts";
import { unobserved } from "../cluster/wait.ts";
import { type Field, field, renderFields } from "./fields.ts";
import { nextStep } from "./next-step.ts";
import { orphanedAccounts } from "./orphaned-accounts.ts";
import { readinessOf, readyCell } from "./readiness.ts";
import type { Screen } from "./screen.ts";
import { renderTable } from "./table.ts";
import { age, both, relative } from "./time.ts";

interface Subject {
  readonly object: Kinds[KindName];
  readonly world: World;
  /** Kinds that `world` lacks for lack of permission. */
  readonly unreadable: readonly KindName[];
  /** About this object, the latest last. */
  readonly events: readonly IamEvent[];
  /** Whether a read has shown that the Secret of the ApiKey does not exist. */
  readonly secretIsMissing: boolean;
  readonly now: Instant;
}

const MOST_EVENTS = 5;

export function renderObject(subject: Subject, screen: Screen): string {
  const { object, now, secretIsMissing } = subject;
  const { namespace } = object.metadata;
  const next = nextStep(object as AnyObject, subject.world, now, secretIsMissing);
  const fields = [
    field("Object", `${nameOf(object)}${namespace === undefined ? "" : ` in ${namespace}`}`),
    readyField(object as AnyObject),
    ...ownFields(subject),
  ];
  const parts = [
    renderFields(fields, screen),
    renderConditions(object as AnyObject, now, screen),
    renderEvents(subject, screen),
    renderFields(
      [
        field("Next", {
          text: withoutMessages(next.text, object as AnyObject),
          style: next.isNeeded ? "warning" : "good",
        }),
      ],
      screen,
    ),
  ];
  return parts.filter((part) => part !== "").join("\n\n");
}

/** The advice without the message that it begins with, which the screen shows above. */
function withoutMessages(advice: string, { status }: AnyObject): string {
  const said = status?.conditions
    ?.map(({ message }) => `${ended(message)} `)
    .find((message) => message !== " " && advice.startsWith(message));
  return said === undefined ? advice : advice.slice(said.length);
}

function readyField(object: AnyObject): Field {
  const readiness = readinessOf(object);
  const cell = readyCell(readiness);
  const style = typeof cell === "string" ? undefined : cell.style;
  const { ready, reason, message } = readiness;
  const also = repeats(object).map(({ type, status }) => `${type}=${status}`);
  const suffix = also.length === 0 ? "" : ` (also ${also.join(", ")})`;
  return { name: "Ready", values: [`${ready} ${reason}${suffix}: ${message}`], style };
}

/** Conditions whose message is in that of Ready; they are named with it instead of repeated. */
function repeats({ status }: AnyObject): readonly Condition[] {
  const ready = findCondition(status?.conditions, "Ready");
  return (status?.conditions ?? []).filter(
    ({ type, reason, message }) =>
      type !== "Ready" && reason === ready?.reason && ready.message.includes(message),
  );
}

function ownFields(subject: Subject): readonly Field[] {
  const { object, world, now } = subject;
  switch (object.kind) {
    case "ApiKey":
      return keyFields(object as ApiKey, subject);
    case "ServiceAccount":
      return [
        ...accountFields(object as ServiceAccount, world),
        ...keysOfAccount(object as ServiceAccount, world, now),
        field(
          "Orphaned accounts",
          ...orphanedAccounts(object as ServiceAccount, now).map(
            ({ saId, why }) => `${saId}, ${why}`,
          ),
        ),
      ];
    case "PolicyBinding":
      return bindingFields(object as PolicyBinding, world, now);
    case "ResourceQuotaExport":
      return exportFields(object as ResourceQuotaExport, now);
    default:
      return connectionFields(object as Connection, now);
  }
}

function keyFields(key: ApiKey, subject: Subject): readonly Field[] {
  const { world, unreadable } = subject;
  const { name: wanted } = key.spec.serviceAccountRef;
  const name = accountInUse(key) ?? wanted;
  const account = world.serviceAccounts.find(
    ({ metadata }) => metadata.name === name && metadata.namespace === key.metadata.namespace,
  );
  const isUnknown = unreadable.includes("ServiceAccount");
  return [
    ...(account === undefined
      ? [field("Account", `iamsa/${name}${isUnknown ? "" : ", which does not exist"}`)]
      : accountFields(account, world)),
    field("Moves to", name === wanted ? undefined : `iamsa/${wanted} (spec.serviceAccountRef)`),
    ...lifeFields(key, subject),
  ];
}

function lifeFields(key: ApiKey, { now, secretIsMissing }: Subject): readonly Field[] {
  const { status } = key;
  const { current, consumers, orphaned = [], superseded = [] } = status ?? {};
  return [
    field(
      "Key",
      current &&
        `${current.keyId}, revision ${current.revision}, issued ${relative(current.issueTime, now)}`,
    ),
    field(
      "Secret",
      status?.secretName &&
        `secret/${status.secretName}${secretIsMissing ? ", which does not exist" : ""}`,
    ),
    field("Expires", current && both(current.expirationTime, now)),
    field("Renews", status?.renewalTime && both(status.renewalTime, now)),
    field("Windows", ...windowTexts(key)),
    field(
      "Consumers",
      consumers && `${count(consumers.pods, "Pod")}, ${consumers.stale} on an older key`,
    ),
    field(
      "Earlier keys",
      ...superseded.map(
        ({ keyId, state, expirationTime }) =>
          `${keyId} ${state}, expires ${relative(expirationTime, now)}`,
      ),
    ),
    field(
      "Lost keys",
      ...orphaned.map(
        ({ keyId = "a key of unknown ID, if it was issued", expirationTime }) =>
          `${keyId}: works until ${both(expirationTime, now)} at the latest`,
      ),
    ),
  ];
}

function accountFields(account: ServiceAccount, world: World): readonly Field[] {
  const { spec, status } = account;
  const { kind, name } = spec.connectionRef;
  return [
    field("Connection", toText({ kind, name })),
    field("Account", `${nameOf(account)}${inConsole(account)}`),
    field("TPN", status?.tpn),
    policiesField(account, world),
    ...(["Foreign", "Abandoned", "Unrevoked"] as const).map((state) =>
      field(state, boundOf(account, state).join(", ") || undefined),
    ),
  ];
}

function inConsole(account: ServiceAccount): string {
  const { saId, state = "of unknown state" } = account.status ?? {};
  if (saId === undefined) return `, ${accountText(account)}`;
  return `: ${isGone(account) ? accountText(account) : `${saId}, ${state}`}`;
}

function policiesField(account: ServiceAccount, world: World): Field {
  const isWarning = account.spec.access === "Revoked" || isGone(account);
  const text = policiesText(account, world);
  return field("Policies", isWarning ? { text, style: "warning" } : text);
}

function policiesText(account: ServiceAccount, world: World): string {
  if (isGone(account)) return boundText(account);
  const bound = boundByBindings(account, world);
  if (account.spec.access !== "Revoked") return bound;
  return isRevoked(account)
    ? `none: ${proofOf(account)}`
    : `${bound}; the revocation is not confirmed yet${reportOn(account)}`;
}

/** What the status shows of a revocation that is complete. */
function proofOf({ status }: ServiceAccount): string {
  return status?.saId === undefined
    ? "access is revoked before there is an account"
    : `access is revoked, confirmed by a read at ${status.bindings?.revocation?.time}`;
}

function reportOn(account: ServiceAccount): string {
  const unseen = unobserved(account, account);
  if (unseen !== undefined) return ` (${unseen.text})`;
  const revocation = revocationOf(account);
  if (revocation === undefined) return "";
  const { type, status, reason } = revocation;
  return ` (${type}=${status} ${reason})`;
}

function boundByBindings(account: ServiceAccount, world: World): string {
  if (isAbsent(account)) return "none";
  const policies = boundOf(account, "Declared");
  const own = world.policyBindings.filter((binding) => belongsTo(binding, account));
  const by = own
    .filter(({ status }) => status?.appliedPolicyIds?.some((id) => policies.includes(id)))
    .map(nameOf)
    .join(", ");
  const declared = `${policies.join(", ")}${by && ` by ${by}`}`;
  if (isReadable(account))
    return `${declared || "none"}${isCurrent(account, own) ? "" : ", as last read"}`;
  return `${declared || "none by a PolicyBinding"}; ${notReadText(account)}`;
}

function keysOfAccount(account: ServiceAccount, world: World, now: Instant): readonly Field[] {
  const { metadata, status } = account;
  const keys = world.apiKeys.filter(
    (key) =>
      belongsTo(key, account) ||
      (key.metadata.namespace === metadata.namespace && accountInUse(key) === metadata.name),
  );
  return [
    field(
      "ApiKeys",
      ...keys.map((key) => `${nameOf(key)}: ${currentText(key, now, metadata.name)}`),
    ),
    field(
      "In the console",
      status?.keyCount === undefined
        ? undefined
        : `${count(status.keyCount, "key")}, listed ${relative(status.lastKeyListTime, now)} or later`,
    ),
  ];
}

function currentText(key: ApiKey, now: Instant, account: string): string {
  const { current } = key.status ?? {};
  if (current === undefined) return "no key yet";
  const of = accountInUse(key) ?? account;
  const { name: wanted } = key.spec.serviceAccountRef;
  const other =
    of !== account ? `, of iamsa/${of}` : wanted !== account ? `, moves to iamsa/${wanted}` : "";
  return `${current.keyId}, expires ${relative(current.expirationTime, now)}${other}`;
}

function bindingFields(binding: PolicyBinding, world: World, now: Instant): readonly Field[] {
  const { spec, status } = binding;
  const account = world.serviceAccounts.find((each) => belongsTo(binding, each));
  return [
    field("Account", `iamsa/${spec.serviceAccountRef.name}`),
    field("Policies", declaredText(binding, account)),
    field("Synced", status?.lastSyncTime && relative(status.lastSyncTime, now)),
  ];
}

function exportFields({ spec, status }: ResourceQuotaExport, now: Instant): readonly Field[] {
  return [
    field("Connection", toText(spec.connectionRef)),
    field("Cluster", String(spec.clusterId)),
    field("Quotas", status?.total === undefined ? undefined : String(status.total)),
    field("Listed", status?.lastSuccessTime && relative(status.lastSuccessTime, now)),
  ];
}

function connectionFields({ spec, status }: Connection, now: Instant): readonly Field[] {
  const { clockSkewSeconds: skew } = status ?? {};
  return [
    field("Console", spec.baseURL),
    field("Organization", `${spec.orgId} (${spec.domainName})`),
    field(
      "Logged in",
      status?.lastAuthenticationTime && relative(status.lastAuthenticationTime, now),
    ),
    field("Clock", skew === undefined || skew === 0 ? undefined : skewText(skew)),
    field("Users", status?.users === undefined ? undefined : count(status.users, "object")),
  ];
}

function skewText(seconds: number): string {
  return `${Math.abs(seconds)} s ${seconds > 0 ? "ahead of" : "behind"} the operator`;
}

export function count(amount: number, what: string): string {
  return `${amount} ${what}${amount === 1 ? "" : "s"}`;
}

function renderConditions(object: AnyObject, now: Instant, screen: Screen): string {
  const told = repeats(object);
  const others = (object.status?.conditions ?? []).filter(
    (each) => each.type !== "Ready" && !told.includes(each),
  );
  if (others.length === 0) return "";
  return renderTable(
    others,
    [
      { title: "CONDITION", cell: ({ type }) => type },
      { title: "STATUS", cell: ({ status }) => status },
      { title: "REASON", cell: ({ reason }) => reason },
      { title: "SINCE", cell: ({ lastTransitionTime }) => age(lastTransitionTime, now) },
      { title: "MESSAGE", cell: ({ message }) => message, flexible: true },
    ],
    screen,
  );
}

function renderEvents({ events, now }: Subject, screen: Screen): string {
  if (events.length === 0) return "";
  return renderTable(
    events.slice(-MOST_EVENTS),
    [
      { title: "EVENT", cell: ({ reason, type }) => ({ text: reason, style: styleOf(type) }) },
      { title: "AGE", cell: ({ time }) => age(time, now) },
      { title: "NOTE", cell: ({ note }) => note, flexible: true },
    ],
    screen,
  );
}

export function styleOf(type: string): "warning" | undefined {
  return type === "Warning" ? "warning" : undefined;
}
