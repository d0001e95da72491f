/** The console and the credentials, from a connection in the cluster or from a Secret that the operator wrote. */

import { accountInUse } from "../../api/account-in-use.ts";
import { type ApiKey, apiKeyKind } from "../../api/api-key.ts";
import {
  type ConnectionSpec,
  clusterConnectionKind,
  connectionKind,
} from "../../api/connection.ts";
import type { ConnectionRef } from "../../api/fields.ts";
import { isConnectionKind } from "../../api/fields.ts";
import { annotations, labels } from "../../api/meta.ts";
import { parseSpec } from "../../api/parse-spec.ts";
import { readEntries } from "../../connections/source.ts";
import type { KeyPair } from "../../console/model.ts";
import { type Secret, secretType } from "../../kube/resource-types.ts";
import { Redacted } from "../../util/redacted.ts";
import { Failure, UsageError } from "../cli/errors.ts";
import type { Options } from "../cli/options.ts";
import { type Cluster, notFound } from "../cluster/cluster.ts";
import { checkName, parseObjectName, toText, typeOf } from "../cluster/kinds.ts";
import { readObject, unlessForbidden } from "../cluster/read.ts";

/** A connection as a command line names it: without a kind, it can be of both kinds. */
export interface GivenConnection {
  readonly kind: ConnectionRef["kind"] | undefined;
  readonly name: string;
}

/** `--connection`, or the default connection of objects that name none. Throws UsageError. */
export function givenConnection({ connection }: Options): GivenConnection {
  if (connection === undefined) return { kind: "ClusterConnection", name: "default" };
  if (!connection.includes("/")) return { kind: undefined, name: checkName(connection) };
  const { kind, name } = parseObjectName(connection);
  if (isConnectionKind(kind)) return { kind, name };
  throw new UsageError(`"${connection}" is not a connection: give a name such as iamconn/own`);
}

/**
 * Without a kind: the namespace's Connection if it has one of that name. Rejects with KubeError, and with UsageError
 * without permission to look.
 */
export async function connectionRefOf(
  cluster: Cluster,
  { kind, name }: GivenConnection,
): Promise<ConnectionRef> {
  if (kind !== undefined) return { kind, name };
  const key = { namespace: cluster.namespace, name };
  const isOwn = await unlessForbidden(
    cluster.kube.get(typeOf("Connection"), key).then((found) => found !== undefined),
  );
  if (isOwn === undefined)
    throw new UsageError(
      `you do not have permission to read whether the namespace has iamconn/${name}: write iamconn/${name} or iamcconn/${name}`,
    );
  return { kind: isOwn ? "Connection" : "ClusterConnection", name };
}

/** Rejects with KubeError. Throws Failure if the connection does not exist or is not valid. */
export async function readConnection(
  cluster: Cluster,
  { kind, name }: ConnectionRef,
): Promise<ConnectionSpec> {
  return specOf({ kind, name }, await readObject(cluster, kind, name));
}

/** Throws Failure if the connection is not valid. */
export function specOf({ kind, name }: ConnectionRef, object: object): ConnectionSpec {
  const schema = kind === "Connection" ? connectionKind : clusterConnectionKind;
  const parsed = parseSpec(schema as typeof connectionKind, object);
  if (parsed.ok) return parsed.spec;
  throw new Failure(`${toText({ kind, name })} is not valid: ${parsed.message}`);
}

interface KeyInSecret {
  readonly key: KeyPair;
  readonly connectionRef: ConnectionRef;
}

/** The key pair in a Secret that the operator wrote, and the connection of its account. */
export async function readKeyInSecret(cluster: Cluster, name: string): Promise<KeyInSecret> {
  const { namespace } = cluster;
  const secret = await cluster.kube.get(secretType, { namespace, name });
  if (secret === undefined) throw notFound(`secret/${name}`, namespace);
  const apiKeyName = secret.metadata.labels?.[labels.apiKey];
  if (apiKeyName === undefined)
    throw new Failure(`secret/${name} was not written by the operator.`);
  const apiKey = await readObject(cluster, "ApiKey", apiKeyName);
  const account = await readObject(cluster, "ServiceAccount", accountInUse(apiKey) ?? "");
  const key = readPair(apiKey, secret);
  return { key, connectionRef: account.spec.connectionRef };
}

/**
 * The pair as a workload reads it from the entries of the ApiKey's Secret. The ID is taken from the annotation only if
 * no entry holds it alone. Throws Failure if the pair cannot be read.
 */
export function readPair(apiKey: ApiKey, secret: Secret): KeyPair {
  const { name, namespace = "" } = secret.metadata;
  const parsed = parseSpec(apiKeyKind, apiKey);
  if (!parsed.ok) throw new Failure(`iamkey/${apiKey.metadata.name}: ${parsed.message}`);
  const { data } = parsed.spec.secret;
  const [idEntry, secretEntry] = [entryWith("keyId", data), entryWith("secret", data)];
  const noted = secret.metadata.annotations?.[annotations.keyId];
  if (secretEntry === undefined || (idEntry ?? noted) === undefined)
    throw new Failure(
      `no entry of secret/${name} holds the key's secret alone: give it by --key-id ${noted ?? "ID"} and --key-secret-file`,
    );
  const at = { namespace, name };
  const keys = idEntry === undefined ? [secretEntry] : [secretEntry, idEntry];
  const read = readEntries({ kind: "Secret", title: "key's", at, keys }, secret);
  if (!read.ok) throw new Failure(read.message);
  const [value = "", keyId = noted ?? ""] = read.values;
  return { keyId, secret: new Redacted(value) };
}

function entryWith(
  variable: "keyId" | "secret",
  data: Readonly<Record<string, string>>,
): string | undefined {
  const whole = `\${${variable}}`;
  return Object.entries(data).find(([, template]) => template.trim() === whole)?.[0];
}
