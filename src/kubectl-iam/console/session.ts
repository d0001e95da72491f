/** The session of one command with the console. */

import type { ConnectionRef } from "../../api/fields.ts";
import type { IamClient } from "../../console/client/client.ts";
import { createIamClient } from "../../console/client/console-client.ts";
import { createTransport } from "../../console/exchange/transport.ts";
import type { Json, KeyPair } from "../../console/model.ts";
import { parseJson } from "../../console/wire/json.ts";
import type { SendHttp } from "../../http/http.ts";
import { isKubeError } from "../../kube/errors.ts";
import { systemRandom } from "../../util/random.ts";
import { Redacted } from "../../util/redacted.ts";
import type { Invocation } from "../cli/command.ts";
import { Failure, UsageError } from "../cli/errors.ts";
import type { Io } from "../cli/io.ts";
import type { Options } from "../cli/options.ts";
import { type Cluster, openCluster } from "../cluster/cluster.ts";
import { toText } from "../cluster/kinds.ts";
import { userAgent } from "../user-agent.ts";
import { readCredentials, readTarget } from "./connection-target.ts";
import {
  connectionRefOf,
  givenConnection,
  readConnection,
  readKeyInSecret,
} from "./from-cluster.ts";
import { keyFromFlags, setting, targetFromFlags, userFromFlags } from "./from-flags.ts";
import { type Caller, type ConsoleTarget, proxyOf } from "./target.ts";

/** A call as sent over the wire, without its request's secrets. */
export interface Answer {
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  readonly status: number;
  readonly requestId: string | undefined;
  readonly json: Json | undefined;
}

export interface ConsoleSession extends AsyncDisposable {
  readonly client: IamClient;
  readonly target: ConsoleTarget;
  /** The key for the calls, if the user gave one. */
  readonly key: KeyPair | undefined;
  /** The console's responses, the latest last. They can contain secrets. */
  readonly answers: readonly Answer[];
}

/** The credentials that a call requires according to the console's documentation. */
type Needs = "user" | "key" | "either" | "anonymous";

/** Throws UsageError if the command line is incomplete, and Failure if the cluster's objects are. */
export async function openConsole(invocation: Invocation, needs: Needs): Promise<ConsoleSession> {
  const { target, caller } = await locate(invocation, needs);
  if (needs === "key" && caller.key === undefined)
    throw new UsageError("this call is made with an API key: give --from-secret or --key-id");
  if (needs === "user" && caller.user === undefined)
    throw new UsageError(
      "this call is made as a user: give --connection, --username or --token-file",
    );
  return openSession(target, caller, invocation.io);
}

interface Located {
  readonly target: ConsoleTarget;
  readonly caller: Caller;
}

async function locate(invocation: Invocation, needs: Needs): Promise<Located> {
  const { io, options } = invocation;
  const { baseUrl, connection, fromSecret } = options;
  if (baseUrl !== undefined && connection !== undefined)
    throw new UsageError("--base-url and --connection exclude each other");
  const hasAddress = connection === undefined && setting(invocation, "baseUrl") !== undefined;
  if (hasAddress && fromSecret === undefined) return await locateByFlags(invocation, needs);
  const given = givenConnection(options);
  await using cluster = await openCluster(io, options);
  if (fromSecret === undefined) {
    const ref = await connectionRefOf(cluster, given);
    return await locateByConnection(invocation, cluster, ref, needs);
  }
  const { key, connectionRef } = await readKeyInSecret(cluster, fromSecret);
  const target = hasAddress
    ? await targetFromFlags(invocation)
    : (await readConsole(cluster, connectionRef, options)).target;
  return { target, caller: { user: undefined, key } };
}

async function locateByFlags(invocation: Invocation, needs: Needs): Promise<Located> {
  const target = await targetFromFlags(invocation);
  const key = needs === "user" ? undefined : await keyFromFlags(invocation);
  const user = isForUser(needs, key) ? await userFromFlags(invocation) : undefined;
  return { target, caller: { user, key } };
}

async function locateByConnection(
  invocation: Invocation,
  cluster: Cluster,
  ref: ConnectionRef,
  needs: Needs,
): Promise<Located> {
  const { options } = invocation;
  const { spec, target } = await readConsole(cluster, ref, options);
  const key = needs === "user" ? undefined : await keyFromFlags(invocation);
  if (!isForUser(needs, key)) return { target, caller: { user: undefined, key } };
  const own = await userFromFlags(invocation);
  const user = own ?? (await readCredentials(cluster, ref, spec, options));
  return { target, caller: { user, key } };
}

async function readConsole(cluster: Cluster, ref: ConnectionRef, options: Options) {
  const spec = await readConnection(cluster, ref).catch((error: unknown) => {
    if (!isKubeError(error, "Forbidden")) throw error;
    throw new Failure(
      `you do not have permission to read ${toText(ref)}: identify the console with --base-url, --org-id and --domain-name`,
    );
  });
  return { spec, target: await readTarget(cluster, ref, spec, options) };
}

function isForUser(needs: Needs, key: KeyPair | undefined): boolean {
  return needs === "user" || (needs === "either" && key === undefined);
}

export function openSession(
  target: ConsoleTarget,
  caller: Caller,
  { clock, environment }: Pick<Io, "clock" | "environment">,
): ConsoleSession {
  const { limits, caBundle, trustOnlyCABundle, clientCertificate, partitionId } = target;
  const proxy = proxyOf(target, environment);
  const answers: Answer[] = [];
  const transport = createTransport({
    origin: new URL(target.baseURL).origin,
    connections: limits.concurrency,
    clock,
    caBundle,
    trustOnlyCABundle,
    clientCertificate,
    ...(proxy === undefined ? {} : { proxy }),
  });
  const client = createIamClient({
    baseURL: target.baseURL,
    domainId: target.domainId,
    domainName: target.domainName,
    ...(partitionId === undefined ? {} : { partitionId }),
    // Without a user, calls that require a user are refused before this point.
    credentials: caller.user ?? { kind: "token", token: new Redacted("") },
    limits,
    accountListPages: target.accountListPages,
    mutationTimeoutMs: limits.timeoutMs,
    userAgent,
    clock,
    random: systemRandom,
    send: recording(transport.send, answers),
  });
  return {
    client,
    target,
    key: caller.key,
    answers,
    [Symbol.asyncDispose]: async () => {
      await client.close();
      await transport.close();
    },
  };
}

/** Records every response. Parses it at once, because the client may wipe the bytes of a response with a secret. */
function recording(send: SendHttp, answers: Answer[]): SendHttp {
  return async (request) => {
    const response = await send(request);
    const json = parseJson(response.body);
    const inBody = (json as { readonly requestId?: unknown } | undefined)?.requestId;
    answers.push({
      method: request.method,
      path: new URL(request.url).pathname,
      status: response.status,
      requestId: typeof inBody === "string" ? inBody : response.headers["x-request-id"],
      json,
    });
    return response;
  };
}
