/** The console of a connection, with the certificates that are in Secrets and ConfigMaps. */
import { type ConnectionSpec, holdsCertificates } from "../../api/connection.ts";
import type { ConnectionRef } from "../../api/fields.ts";
import { type ClientCertificate, readClientCertificate } from "../../http/tls-settings.ts";
import { configMapType, secretType } from "../../kube/resource-types.ts";
import { ownEntry } from "../../util/own-entry.ts";
import { Failure } from "../cli/errors.ts";
import type { Options } from "../cli/options.ts";
import type { Cluster } from "../cluster/cluster.ts";
import { entry, readReferenced } from "./from-cluster.ts";
import { type ConsoleTarget, targetOf } from "./target.ts";

/** Throws Failure where a certificate is not there, or not whole. */
export async function readTarget(
  cluster: Cluster,
  ref: ConnectionRef,
  spec: ConnectionSpec,
  options: Options,
): Promise<ConsoleTarget> {
  const caBundle = (await readBundle(cluster, ref, spec, options)) ?? spec.caBundle;
  const clientCertificate = await readCertificate(cluster, ref, spec, options);
  return targetOf(spec, { caBundle, clientCertificate });
}

async function readBundle(
  cluster: Cluster,
  ref: ConnectionRef,
  { caBundleFrom: { configMapRef, secretRef } = {} }: ConnectionSpec,
  options: Options,
): Promise<string | undefined> {
  if (configMapRef !== undefined) {
    const { name, key } = configMapRef;
    const configMap = await readReferenced(cluster, ref, configMapType, name, options);
    return certificatesIn(ownEntry(configMap.data, key) ?? "", `configmap/${name}`, key);
  }
  if (secretRef === undefined) return undefined;
  const { name, key } = secretRef;
  const secret = await readReferenced(cluster, ref, secretType, name, options);
  return certificatesIn(entry(secret, key), `secret/${name}`, key);
}

function certificatesIn(text: string, object: string, key: string): string {
  if (holdsCertificates(text)) return text;
  throw new Failure(`${object} has no certificates in PEM in its entry "${key}".`);
}

async function readCertificate(
  cluster: Cluster,
  ref: ConnectionRef,
  { clientCertificate }: ConnectionSpec,
  options: Options,
): Promise<ClientCertificate | undefined> {
  if (clientCertificate === undefined) return undefined;
  const { name } = clientCertificate.secretRef;
  const secret = await readReferenced(cluster, ref, secretType, name, options);
  const pair = readClientCertificate(entry(secret, "tls.crt"), entry(secret, "tls.key"));
  if (pair !== undefined) return pair;
  throw new Failure(
    `secret/${name} has no certificate in tls.crt with its private key in tls.key.`,
  );
}
