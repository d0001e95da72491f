/** A connection's console and credentials, from the Secrets and ConfigMaps to which its spec refers. */
import type { ConnectionSpec } from "../../api/connection.ts";
import type { ConnectionRef } from "../../api/fields.ts";
import {
  bundleSource,
  certificateSource,
  parseBundle,
  parseClientCertificate,
} from "../../connections/certificates.ts";
import { consoleSettings } from "../../connections/client-settings.ts";
import { credentialsSource, parseCredentials } from "../../connections/credentials.ts";
import type { MissingInput, Source, SourceObject } from "../../connections/source.ts";
import type { IamCredentials } from "../../console/model.ts";
import { configMapType, secretType } from "../../kube/resource-types.ts";
import { Failure } from "../cli/errors.ts";
import type { Options } from "../cli/options.ts";
import type { Cluster } from "../cluster/cluster.ts";
import { operatorNamespace } from "../cluster/operator.ts";
import type { ConsoleTarget } from "./target.ts";

/** Throws Failure if a certificate is missing or invalid. */
export async function readTarget(
  cluster: Cluster,
  ref: ConnectionRef,
  spec: ConnectionSpec,
  options: Options,
): Promise<ConsoleTarget> {
  const namespace = homeOf(cluster, ref, options);
  const bundle = bundleSource(spec, namespace);
  const certificate = certificateSource(spec, namespace);
  const { orgId, projectId } = spec;
  const certificates = {
    ...(bundle && (await readSource(cluster, bundle, parseBundle))),
    ...(certificate && (await readSource(cluster, certificate, parseClientCertificate))),
  };
  return { orgId, projectId, ...consoleSettings(spec, certificates) };
}

/** Throws Failure if the credentials are missing or incomplete. */
export async function readCredentials(
  cluster: Cluster,
  ref: ConnectionRef,
  spec: ConnectionSpec,
  options: Options,
): Promise<IamCredentials> {
  const login = credentialsSource(spec, homeOf(cluster, ref, options));
  const { credentials } = await readSource(cluster, login, (source, secret) =>
    parseCredentials(spec, source, secret),
  );
  return credentials;
}

/** The namespace in which the operator reads a connection's Secrets and ConfigMaps. */
function homeOf({ namespace }: Cluster, { kind }: ConnectionRef, options: Options): string {
  return kind === "Connection" ? namespace : operatorNamespace(options);
}

async function readSource<Found extends { readonly ok: true }>(
  { kube }: Cluster,
  source: Source,
  parse: (source: Source, object: SourceObject | undefined) => Found | MissingInput,
): Promise<Found> {
  const type = source.kind === "Secret" ? secretType : configMapType;
  const parsed = parse(source, await kube.get<SourceObject>(type, source.at));
  if (parsed.ok) return parsed;
  throw new Failure(parsed.message);
}
