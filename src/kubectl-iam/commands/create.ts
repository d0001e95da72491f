/** `create`: creates an object from flags, or prints its manifest. */

import type { KindName } from "../../api/kinds.ts";
import { kinds } from "../../api/kinds.ts";
import { API_VERSION } from "../../api/meta.ts";
import { parseSpec } from "../../api/parse-spec.ts";
import type { Invocation } from "../cli/command.ts";
import { type ExitCode, UsageError } from "../cli/errors.ts";
import type { Options } from "../cli/options.ts";
import { openCluster } from "../cluster/cluster.ts";
import { createObject, printManifest } from "../cluster/create-object.ts";
import { checkName, findKind, kindOf, parseNameOf, typeOf } from "../cluster/kinds.ts";
import { connectionRefOf } from "../console/from-cluster.ts";

export async function run(invocation: Invocation): Promise<ExitCode> {
  const { io, options, args } = invocation;
  const [kindText = "", name = ""] = args;
  const kind = findKind(kindText);
  if (kind === undefined)
    throw new UsageError(
      `"${kindText}" is none of the operator's kinds: ${kinds.map(({ singular }) => singular).join(", ")}`,
    );
  const spec = specs[kind](options);
  checkName(name);
  const parsed = parseSpec(kindOf(kind), { metadata: { name }, spec });
  if (!parsed.ok) throw new UsageError(parsed.message);
  if (options.export)
    return await printManifest(invocation, toObject(kind, name, options.namespace, spec));
  await using cluster = await openCluster(io, options);
  return await createObject(
    invocation,
    cluster,
    kind,
    toObject(kind, name, cluster.namespace, spec),
  );
}

function toObject(
  kind: KindName,
  name: string,
  namespace: string | undefined,
  spec: object,
): object {
  const isNamespaced = typeOf(kind).namespaced && namespace !== undefined;
  const metadata = isNamespaced ? { name, namespace } : { name };
  return { apiVersion: API_VERSION, kind, metadata, spec };
}

/** A missing field has a default, or the kind's schema rejects the object. */
const specs: Readonly<Record<KindName, (options: Options) => object>> = {
  ServiceAccount: (options) => connectionOf(options),
  ApiKey: (options) => ({
    ...accountOf(options),
    ...(options.expiresInDays === undefined ? {} : { expiresInDays: options.expiresInDays }),
    ...(options.secretName === undefined ? {} : { secret: { name: options.secretName } }),
  }),
  PolicyBinding: (options) => ({ ...accountOf(options), policyIds: options.policy ?? [] }),
  ResourceQuotaExport: (options) => ({
    ...connectionOf(options),
    clusterId: options.clusterId ?? missing("--cluster-id"),
  }),
  Connection: consoleOf,
  ClusterConnection: consoleOf,
};

function connectionOf(options: Options): object {
  return options.connection === undefined ? {} : { connectionRef: connectionRefOf(options) };
}

function accountOf({ account }: Options): object {
  const { name } =
    account === undefined ? missing("--account") : parseNameOf("ServiceAccount", account);
  return { serviceAccountRef: { name } };
}

function consoleOf(options: Options): object {
  const secret = options.credentials ?? missing("--credentials");
  const name = checkName(secret);
  return {
    baseURL: options.baseUrl ?? missing("--base-url"),
    orgId: options.orgId ?? missing("--org-id"),
    ...(options.projectId === undefined ? {} : { projectId: options.projectId }),
    domainName: options.domainName ?? missing("--domain-name"),
    credentials: { login: { secretRef: { name } } },
  };
}

function missing(flag: string): never {
  throw new UsageError(`${flag} is needed for this kind`);
}
