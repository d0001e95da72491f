/** Connections: their conditions, their credentials, and the console as this machine sees it. */
import { connect } from "node:tls";
import { findCondition, isTrue } from "../../api/conditions.ts";
import type { ConnectionRef } from "../../api/fields.ts";
import { isIamError } from "../../console/errors.ts";
import { servedAtHost } from "../../http/server-name.ts";
import { tlsOptions } from "../../http/tls-settings.ts";
import { isKubeError } from "../../kube/errors.ts";
import { bareHost } from "../../util/host.ts";
import { DAY, MINUTE, parseInstant, SECOND } from "../../util/time.ts";
import type { Invocation } from "../cli/command.ts";
import { Failure } from "../cli/errors.ts";
import type { Cluster } from "../cluster/cluster.ts";
import { type AnyObject, toText } from "../cluster/kinds.ts";
import type { World } from "../cluster/read.ts";
import { readCredentials, readTarget } from "../console/connection-target.ts";
import { specOf } from "../console/from-cluster.ts";
import { type Answer, openSession } from "../console/session.ts";
import { type ConsoleTarget, proxyOf } from "../console/target.ts";
import { type Finding, failed, judgeReadiness, ok, skipped, unknown, warning } from "./finding.ts";

const CONNECT_MS = 5 * SECOND;
const EXPIRES_SOON = 14 * DAY;
const MOST_SKEW = 5 * MINUTE;

/** The findings, and the calls that were made for them. */
interface ConnectionFindings {
  readonly findings: readonly Finding[];
  readonly answers: readonly Answer[];
}

/** Rejects with KubeError. */
export async function checkConnections(
  invocation: Invocation,
  cluster: Cluster,
  { clusterConnections, connections }: World,
): Promise<ConnectionFindings> {
  const all = [...clusterConnections, ...connections];
  const results = await Promise.all(
    all.map((each) => checkOne(invocation, cluster, each as AnyObject)),
  );
  if (all.length === 0)
    return {
      findings: [skipped("Connection", "there is none that you can see here")],
      answers: [],
    };
  return {
    findings: results.flatMap(({ findings }) => findings),
    answers: results.flatMap(({ answers }) => answers),
  };
}

async function checkOne(
  invocation: Invocation,
  cluster: Cluster,
  object: AnyObject,
): Promise<ConnectionFindings> {
  const ref = { kind: object.kind, name: object.metadata.name } as ConnectionRef;
  const check = toText(ref);
  const own = judgeReadiness(object);
  const { allNamespaces, tenantLogins } = invocation.options;
  if (object.kind === "Connection" && allNamespaces && !tenantLogins)
    return {
      findings: [
        own,
        skipped(check, "a tenant chooses its address; --tenant-logins tries it from here"),
      ],
      answers: [],
    };
  const within = { ...cluster, namespace: object.metadata.namespace ?? cluster.namespace };
  try {
    const spec = specOf(ref, object);
    const target = await readTarget(within, ref, spec, invocation.options);
    const tls = await checkTls(check, target, invocation.io);
    if (!isTrue(object.status?.conditions, "Authenticated") && isRefused(object))
      return {
        findings: [own, tls, skipped(check, "no login is tried while the console refuses it")],
        answers: [],
      };
    const user = await readCredentials(within, ref, spec, invocation.options);
    await using session = openSession(target, { user, key: undefined }, invocation.io);
    const login = await tryLogin(check, session);
    return { findings: [own, tls, ...login], answers: [...session.answers] };
  } catch (error) {
    if (isKubeError(error, "Forbidden"))
      return {
        findings: [
          own,
          unknown(
            check,
            `you do not have permission to read its credentials or certificates (${error.message}), so no login is tried`,
          ),
        ],
        answers: [],
      };
    if (error instanceof Failure)
      return { findings: [own, failed(check, error.message)], answers: [] };
    throw error;
  }
}

/** Another failed login might lock the user out. */
function isRefused({ status }: AnyObject): boolean {
  const reason = findCondition(status?.conditions, "Authenticated")?.reason ?? "";
  return ["LoginFailed", "LoginPaused", "MfaRequired"].includes(reason);
}

async function tryLogin(
  check: string,
  { client, answers }: ReturnType<typeof openSession>,
): Promise<readonly Finding[]> {
  try {
    await client.authenticate();
  } catch (error) {
    if (!isIamError(error)) throw error;
    return [failed(check, error.message, `kubectl iam explain ${error.code}`)];
  }
  const { requestId } = answers.at(-1) ?? {};
  const accepted =
    requestId === undefined
      ? skipped(check, "the credentials are a token: the console was not called")
      : ok(check, `the console accepts the credentials (request ${requestId})`);
  const skew = client.clockSkew();
  if (skew === undefined) return [accepted];
  const seconds = Math.round(skew);
  const clock =
    Math.abs(skew * SECOND) > MOST_SKEW
      ? warning(
          check,
          `the console's clock is ${seconds} s ahead of this machine's`,
          "Correct the wrong clock.",
        )
      : ok(check, `the clocks agree (${seconds} s apart)`);
  return [accepted, clock];
}

/** Connects to the console's port; sends nothing but the handshake. */
function checkTls(
  check: string,
  target: ConsoleTarget,
  { clock, environment }: Invocation["io"],
): Promise<Finding> {
  const now = clock.now();
  const { protocol, hostname, port, host } = new URL(target.baseURL);
  if (protocol !== "https:")
    return Promise.resolve(warning(check, `${host} is plain http: credentials travel unencrypted`));
  const proxy = proxyOf(target, environment);
  if (proxy !== undefined)
    return Promise.resolve(
      skipped(check, `${host} is reached by the proxy ${new URL(proxy).host}`),
    );
  return new Promise((resolve) => {
    const name = bareHost(hostname);
    const options = {
      host: name,
      port: Number(port || 443),
      // SNI does not allow IP addresses.
      servername: "",
      ...servedAtHost(target.baseURL),
      timeout: CONNECT_MS,
      ...tlsOptions(target),
    };
    const socket = connect(options, () => {
      const end = parseInstant(socket.getPeerCertificate().valid_to) ?? now;
      const left = end - now;
      const days = Math.floor(left / DAY);
      resolve(
        left < EXPIRES_SOON
          ? warning(check, `the console's certificate expires in ${days} days`, "Have it renewed.")
          : ok(check, `${host} is reached, its certificate is valid for ${days} days`),
      );
      socket.destroy();
    });
    const fail = (why: string) => {
      resolve(
        failed(
          check,
          `${host} is not reached from here: ${why}`,
          "Look at the network, spec.baseURL, and spec.caBundle or caBundleFrom.",
        ),
      );
      socket.destroy();
    };
    socket.once("timeout", () => fail("no answer within 5 s"));
    socket.once("error", (error: NodeJS.ErrnoException) => fail(error.code ?? error.name));
  });
}
