/** `create`: creates an object from flags, or prints its manifest. */

import type { ConnectionRef } from "../../api/fields.ts";
import type { KindName } from "../../api/kinds.ts";
import { kinds } from "../../api/kinds.ts";
import { API_VERSION } from "../../api/meta.ts";
import { parseSpec } from "../../api/parse-spec.ts";
import type { Invocation } from "../cli/command.ts";
import { type ExitCode, UsageError } from "../cli/errors.ts";
import type { Io } from "../cli/io.ts";
import { options as known, nameOf, type OptionName, type Options } from "../cli/options.ts";
import { openCluster } from "../cluster/cluster.ts";
import { createObject, printManifest } from "../cluster/create-object.ts";
import { checkName, findKind, kindOf, parseNameOf, typeOf } from "../cluster/kinds.ts";
import { connectionRefOf, givenConnection } from "../console/from-cluster.ts";
import { readText } from "../console/secret-input.ts";

export async function run(invocation: Invocation): Promise<ExitCode> {
  const { io, options, args } = invocation;
  const [kindText = "", name = ""] = args;
  const kind = findKind(kindText);
  if (kind === undefined)
    throw new UsageError(
      `"${kindText}" is none of the operator's kinds: ${kinds.map(({ singular }) => singular).join(", ")}`,
    );
  checkFlags(kind, options);
  checkName(name);
  const spec = await recipes[kind].toSpec(options, io);
  const given = options.connection === undefined ? undefined : givenConnection(options);
  const objectWith = (connectionRef: object | undefined, namespace: string | undefined) =>
    toObject(kind, name, namespace, { ...spec, ...(connectionRef && { connectionRef }) });
  const isOffline = options.export && (given === undefined || given.kind !== undefined);
  if (isOffline) return await printManifest(invocation, objectWith(given, options.namespace));
  await using cluster = await openCluster(io, options);
  const ref: ConnectionRef | undefined = given && (await connectionRefOf(cluster, given));
  return options.export
    ? await printManifest(invocation, objectWith(ref, options.namespace))
    : await createObject(invocation, cluster, kind, objectWith(ref, cluster.namespace));
}

/** Throws UsageError if the spec is not valid. */
function toObject(
  kind: KindName,
  name: string,
  namespace: string | undefined,
  spec: object,
): object {
  const isNamespaced = typeOf(kind).namespaced && namespace !== undefined;
  const metadata = isNamespaced ? { name, namespace } : { name };
  const parsed = parseSpec(kindOf(kind), { metadata, spec });
  if (!parsed.ok) throw new UsageError(parsed.message);
  return { apiVersion: API_VERSION, kind, metadata, spec };
}

/** How the flags of a kind become its spec; `--connection` becomes its connectionRef. */
interface Recipe {
  readonly needs: readonly OptionName[];
  readonly takes: readonly OptionName[];
  /** A missing field has a default, or the kind's schema rejects the object. */
  readonly toSpec: (options: Options, io: Io) => object | Promise<object>;
}

const ofConsole: Recipe = {
  needs: ["baseUrl", "orgId", "domainName", "credentials"],
  takes: ["projectId", "partitionId", "caFile", "insecureHttp"],
  toSpec: async ({ caFile, credentials, ...options }, io) =>
    defined({
      baseURL: options.baseUrl,
      insecureHTTP: options.insecureHttp,
      caBundle: caFile && (await readText(io, caFile)),
      orgId: options.orgId,
      projectId: options.projectId,
      domainName: options.domainName,
      partitionId: options.partitionId,
      credentials: { login: { secretRef: { name: checkName(credentials ?? "") } } },
    }),
};

const recipes: Readonly<Record<KindName, Recipe>> = {
  ServiceAccount: {
    needs: [],
    takes: ["connection", "projectId", "description"],
    toSpec: ({ projectId, description }) => defined({ projectId, description }),
  },
  ApiKey: {
    needs: ["account"],
    takes: ["secretName", "expiresInDays", "description"],
    toSpec: ({ account, secretName, expiresInDays, description }) =>
      defined({
        serviceAccountRef: refTo(account),
        description,
        expiresInDays,
        secret: secretName && { name: secretName },
      }),
  },
  PolicyBinding: {
    needs: ["account"],
    takes: ["policy"],
    toSpec: ({ account, policy = [] }) => ({
      serviceAccountRef: refTo(account),
      policyIds: policy,
    }),
  },
  ResourceQuotaExport: {
    needs: ["clusterId"],
    takes: ["connection"],
    toSpec: ({ clusterId }) => ({ clusterId }),
  },
  Connection: ofConsole,
  ClusterConnection: ofConsole,
};

function refTo(account = ""): object {
  return { name: parseNameOf("ServiceAccount", account).name };
}

function defined(fields: object): object {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

/** Throws UsageError if flags are missing, or belong to other kinds: they would have no effect. */
function checkFlags(kind: KindName, options: Options): void {
  const { needs, takes } = recipes[kind];
  const missing = needs.filter((name) => options[name] === undefined).map(flagOf);
  if (missing.length > 0)
    throw new UsageError(
      `${missing.join(", ")} ${missing.length === 1 ? "is" : "are"} needed for this kind`,
    );
  const own = new Set([...needs, ...takes]);
  const foreign = Object.values(recipes)
    .flatMap((recipe) => [...recipe.needs, ...recipe.takes])
    .find((name) => options[name] !== undefined && !own.has(name));
  if (foreign !== undefined)
    throw new UsageError(
      `${flagOf(foreign)} is not for this kind, which takes ${[...own].map(flagOf).join(", ")}`,
    );
}

function flagOf(name: OptionName): string {
  return nameOf(known[name].flags);
}
