import {
  type ConnectionSpec,
  clusterConnectionKind,
  connectionKind,
} from "../../api/connection.ts";
import { annotations } from "../../api/meta.ts";
import { parseSpec } from "../../api/parse-spec.ts";
import type { ObjectKey } from "../../kube/resource.ts";
import { connectionKey } from "../connection-key.ts";
import { type Context, indexes } from "../context.ts";
import { hasFinalizer } from "../finalizers.ts";
import { requestToken } from "../request-token.ts";
import { secretType } from "../resource-types.ts";
import { clientIdentity } from "./client-settings.ts";
import type { ConnectionRegistry } from "./connections.ts";
import { type CredentialsFinding, credentialsSource, parseCredentials } from "./credentials.ts";
import { effectiveGrant } from "./effective-grant.ts";
import type { AnyConnection, ConnectionKindName } from "./kind-name.ts";
import type { Session, SessionIdentity } from "./sessions.ts";

export interface Observed {
  /** As the registry and the index name it. */
  readonly key: string;
  readonly deleting: boolean;
  /** Its namespace is going away, and Secrets go before the objects that need them. */
  readonly namespaceTerminating: boolean;
  readonly held: boolean;
  readonly spec: ParsedConnection;
  readonly session: Session | undefined;
  /** Objects that must let go before the connection can, by kind and name. */
  readonly users: readonly string[];
  /** A person asked for a new look that has not been given yet. */
  readonly asked: string | undefined;
}

export type ParsedConnection =
  | { readonly ok: false; readonly message: string }
  | {
      readonly ok: true;
      readonly spec: ConnectionSpec;
      readonly credentials: CredentialsFinding;
      /** What a session made now would be made from; absent without a Secret. */
      readonly identity: SessionIdentity | undefined;
    };

export interface ObserveOptions {
  readonly registry: ConnectionRegistry;
  readonly operatorNamespace: string;
}

export async function observe(
  kind: ConnectionKindName,
  object: AnyConnection,
  context: Context,
  { registry, operatorNamespace }: ObserveOptions,
  signal: AbortSignal,
): Promise<Observed> {
  const { metadata, status } = object;
  const namespace = metadata.namespace ?? "";
  const key = connectionKey({ kind, name: metadata.name }, namespace);
  const home = context.caches.namespaces.get({ namespace: "", name: namespace });
  const requested = requestToken(metadata, annotations.reconcileRequestedAt);
  return {
    key,
    deleting: metadata.deletionTimestamp !== undefined,
    namespaceTerminating: home?.metadata.deletionTimestamp !== undefined,
    held: hasFinalizer(object),
    spec: await readSpec(
      kind,
      object,
      context,
      kind === "Connection" ? namespace : operatorNamespace,
      signal,
    ),
    session: registry.sessions.get(key),
    users: findUsers(key, kind, object, context),
    asked: requested === status?.lastHandledReconcileAt ? undefined : requested,
  };
}

async function readSpec(
  kind: ConnectionKindName,
  object: AnyConnection,
  { kube }: Context,
  namespace: string,
  signal: AbortSignal,
): Promise<ParsedConnection> {
  const parsed =
    kind === "Connection"
      ? parseSpec(connectionKind, object)
      : parseSpec(clusterConnectionKind, object);
  if (!parsed.ok) return parsed;
  const { spec } = parsed;
  const source = credentialsSource(spec);
  if (source === undefined) {
    return { ok: false, message: "spec.credentials: set exactly one of login and token" };
  }
  if (!spec.baseURL.startsWith("https://") && !spec.insecureHTTP) {
    return { ok: false, message: "spec.baseURL: must start with https:// unless insecureHTTP" };
  }
  const at: ObjectKey = { namespace, name: source.name };
  const secret = await kube.get(secretType, at, { signal });
  return {
    ok: true,
    spec,
    credentials: parseCredentials(spec, at, secret),
    identity:
      secret === undefined
        ? undefined
        : {
            uid: object.metadata.uid,
            spec: clientIdentity(spec),
            secretUid: secret.metadata.uid ?? "",
            secretVersion: secret.metadata.resourceVersion ?? "",
          },
  };
}

/**
 * A user counts where the connection is granted to it, or where it has already left something at the
 * console: an object of a namespace that was never granted must not hold an administrator's connection.
 */
function findUsers(
  key: string,
  kind: ConnectionKindName,
  object: AnyConnection,
  { caches }: Context,
): readonly string[] {
  const isGranted = (namespace: string) =>
    kind === "Connection" ||
    effectiveGrant(
      grantsOf(object),
      namespace,
      caches.namespaces.get({ namespace: "", name: namespace })?.metadata.labels ?? {},
    ) !== undefined;
  const accounts = caches.serviceAccounts
    .byIndex(indexes.connection, key)
    .filter(
      ({ metadata, status }) =>
        isGranted(metadata.namespace ?? "") ||
        status?.saId !== undefined ||
        status?.attempt !== undefined,
    )
    .map(({ metadata }) => `ServiceAccount ${metadata.namespace}/${metadata.name}`);
  const quotaExports = caches.resourceQuotaExports
    .byIndex(indexes.connection, key)
    .filter(({ metadata }) => isGranted(metadata.namespace ?? ""))
    .map(({ metadata }) => `ResourceQuotaExport ${metadata.namespace}/${metadata.name}`);
  return [...accounts.sort(), ...quotaExports.sort()];
}

function grantsOf(object: AnyConnection) {
  const parsed = parseSpec(clusterConnectionKind, object);
  return parsed.ok ? parsed.spec.grants : [];
}
