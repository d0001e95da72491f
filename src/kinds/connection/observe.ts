import { findCondition } from "../../api/conditions.ts";
import {
  type ConnectionSpec,
  clusterConnectionKind,
  connectionKind,
} from "../../api/connection.ts";
import { parseSpec, parseStoredSpec } from "../../api/parse-spec.ts";
import { clientIdentity, clientSettings } from "../../connections/client-settings.ts";
import { connectionKey } from "../../connections/connection-key.ts";
import { parseInputs, sourcesOf } from "../../connections/inputs.ts";
import type { SourceObject } from "../../connections/source.ts";
import { isUnanswered } from "../../console/errors.ts";
import { type KubeObject, keyOf, keyText } from "../../kube/resource.ts";
import type { Context } from "../../reconciler/context.ts";
import { PartialFailure } from "../../reconciler/rules/partial-failure.ts";
import type { CommonStatus } from "../../reconciler/rules/report.ts";
import { openRequest } from "../../reconciler/rules/request.ts";
import type { ReadContext } from "../../reconciler/run-context.ts";
import { settleAll } from "../../reconciler/settle-all.ts";
import { indexes } from "../../resources/indexes.ts";
import {
  configMapType,
  namespaceType,
  secretType,
  serviceAccountType,
} from "../../resources/resource-types.ts";
import type { Outage } from "./outage-watch.ts";
import type { ConnectionRegistry } from "./registry.ts";
import { effectiveGrant, type Grants } from "./rules/effective-grant.ts";
import type { AnyConnection, ConnectionKindName } from "./rules/kind-name.ts";
import type { ConnectionKind, ConnectionSnapshot, ReadableSpec } from "./rules/snapshot.ts";
import { stateOf } from "./sessions.ts";

export interface ConnectionSources {
  readonly registry: ConnectionRegistry;
  /** The namespace of the Secrets and ConfigMaps of ClusterConnections. */
  readonly operatorNamespace: string;
}

/**
 * Reads the caches and the current session, and the Secrets and ConfigMaps from the API server. Rejects with a
 * PartialFailure if one of them cannot be read.
 */
export async function observe(
  kind: ConnectionKindName,
  object: AnyConnection,
  spec: ReadableSpec,
  { registry: { sessions }, operatorNamespace }: ConnectionSources,
  context: ReadContext<ConnectionKind>,
  signal: AbortSignal,
): Promise<ConnectionSnapshot> {
  const { metadata } = object;
  const namespace = metadata.namespace ?? "";
  const key = connectionKey({ kind, name: metadata.name }, namespace);
  const home = context.caches.of(namespaceType).get({ namespace: "", name: namespace });
  const session = sessions.get(key);
  const snapshot = {
    object,
    key,
    spec,
    inputs: undefined,
    identity: undefined,
    session: session && stateOf(session),
    outage: outageOf(sessions.outageOf(key), key, context),
    clockSkewSeconds: session?.client.clockSkew(),
    namespaceTerminating: home?.metadata.deletionTimestamp !== undefined,
    users: findUsers(key, kind, object, context),
    request: openRequest(object),
  };
  if (!spec.ok || spec.suspend) return snapshot;
  try {
    const at = kind === "Connection" ? namespace : operatorNamespace;
    const read = await readInputs(object, spec.spec, context, at, signal);
    const { inputs } = read;
    if (!inputs?.ok || sessions.certificates.fits(key, clientSettings(spec.spec, inputs.value)))
      return { ...snapshot, ...read };
    return { ...snapshot, inputs: tooManyCertificates, identity: undefined };
  } catch (error) {
    throw new PartialFailure(snapshot, error);
  }
}

const tooManyCertificates = {
  ok: false,
  reason: "CertificateInvalid",
  message:
    "The CA bundles and client certificates of this namespace's Connections are too large together: they may have 393216 characters, and less if many namespaces use large ones. Use the same CA bundle in all Connections of the namespace, or bundles with fewer CAs.",
} as const;

function outageOf(
  outage: Outage | undefined,
  key: string,
  { caches }: Pick<Context, "caches">,
): ConnectionSnapshot["outage"] {
  if (outage === undefined) return undefined;
  const accounts = caches.of(serviceAccountType).byIndex(indexes.connection, key);
  const users = caches
    .indexedBy(indexes.connection)
    .flatMap(({ store }) => store.byIndex(indexes.connection, key));
  const ofAccounts = caches
    .indexedBy(indexes.serviceAccount)
    .flatMap(({ store }) =>
      accounts.flatMap((account) => store.byIndex(indexes.serviceAccount, keyText(keyOf(account)))),
    );
  // A moved ApiKey uses two accounts.
  const waiting = [...new Set([...users, ...ofAccounts])].filter(isWaiting).length;
  return { ...outage, waiting };
}

/** Whether the last run over the object failed because the console did not answer, or a page answered in its place. */
function isWaiting({ status }: KubeObject & { readonly status?: CommonStatus }): boolean {
  const { reason = "" } = findCondition(status?.conditions, "Ready") ?? {};
  return isUnanswered(reason) || reason === "MalformedResponse";
}

/** An invalid spec is a result and not an error, so that its session is closed and its deletion continues. */
export function readSpec(kind: ConnectionKindName, object: AnyConnection): ReadableSpec {
  const parsed =
    kind === "Connection"
      ? parseStoredSpec(connectionKind, object)
      : parseStoredSpec(clusterConnectionKind, object);
  if (!parsed.ok) return { ok: false, suspend: false, message: parsed.message };
  const { spec } = parsed;
  return { ok: true, suspend: spec.suspend, spec };
}

async function readInputs(
  { metadata }: AnyConnection,
  spec: ConnectionSpec,
  { kube }: Pick<ReadContext<ConnectionKind>, "kube">,
  namespace: string,
  signal: AbortSignal,
): Promise<Pick<ConnectionSnapshot, "inputs" | "identity">> {
  const sources = sourcesOf(spec, namespace);
  const objects = await settleAll(
    sources.map(async (source) => {
      if (source === undefined) return undefined;
      const type = source.kind === "Secret" ? secretType : configMapType;
      return kube.get<SourceObject>(type, source.at, { signal });
    }),
  );
  const versions = objects.map((object) => {
    const { uid = "", resourceVersion = "" } = object?.metadata ?? {};
    return `${uid}/${resourceVersion}`;
  });
  const inputs = parseInputs(spec, sources, objects);
  const identity = {
    uid: metadata.uid,
    spec: clientIdentity(spec),
    inputs: versions.join(" "),
  };
  return { inputs, identity: inputs.ok ? identity : undefined };
}

/**
 * The objects that use the connection, as `Kind namespace/name`. An object counts if a grant matches its namespace or
 * if it has already used the console: an object in a namespace without a grant must not block the deletion of a
 * ClusterConnection.
 */
function findUsers(
  key: string,
  kind: ConnectionKindName,
  object: AnyConnection,
  { caches }: Pick<Context, "caches">,
): readonly string[] {
  const grants = grantsOf(object);
  const isGranted = (namespace: string) =>
    kind === "Connection" ||
    effectiveGrant(
      grants,
      namespace,
      caches.of(namespaceType).get({ namespace: "", name: namespace })?.metadata.labels ?? {},
    ) !== undefined;
  const isUser = (user: User) => isGranted(user.metadata.namespace ?? "") || hasUsedConsole(user);
  return caches.indexedBy(indexes.connection).flatMap(({ type, store }) =>
    store
      .byIndex(indexes.connection, key)
      .filter(isUser)
      .map(({ metadata }) => `${type.kind} ${metadata.namespace}/${metadata.name}`)
      .sort(),
  );
}

type User = KubeObject & {
  readonly status?: { readonly saId?: string | undefined; readonly attempt?: unknown };
};

function hasUsedConsole({ status }: User): boolean {
  return status?.saId !== undefined || status?.attempt !== undefined;
}

function grantsOf(object: AnyConnection): Grants {
  const parsed = parseSpec(clusterConnectionKind, object);
  return parsed.ok ? parsed.spec : { grants: [], withdrawalGracePeriod: "Never" };
}
