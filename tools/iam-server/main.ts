/** The reference console on its own: `node tools/iam-server/main.ts --port 8080`. */
import { readFileSync } from "node:fs";
import { readFlags } from "../../scripts/flags.ts";
import { parseDuration } from "../../src/util/time.ts";
import { DEFAULT_CREDENTIALS, SEEDED } from "./seed.ts";
import { startIamServer } from "./server.ts";

const values = readFlags("iam-server", {
  port: { type: "string", default: "8090" },
  "control-port": { type: "string", default: "8091" },
  host: { type: "string", default: "127.0.0.1" },
  latency: { type: "string", default: "0ms" },
  "token-lifetime": { type: "string", default: "1h" },
  username: { type: "string", default: DEFAULT_CREDENTIALS.username },
  password: { type: "string", default: DEFAULT_CREDENTIALS.password },
  domain: { type: "string", default: DEFAULT_CREDENTIALS.domain },
  "tls-cert": { type: "string" },
  "tls-key": { type: "string" },
  "extra-calls": { type: "boolean", default: false },
});

const duration = (text: string) => {
  const ms = parseDuration(text);
  if (ms === undefined) throw new Error(`not a duration such as 5ms or 1h: ${text}`);
  return ms;
};
const { username, password, domain } = values;
const cert = values["tls-cert"];
const key = values["tls-key"];
const account = "/api/v1/iam/authn/service-accounts/{saId}";
const server = await startIamServer({
  port: Number(values.port),
  controlPort: Number(values["control-port"]),
  host: values.host,
  latencyMs: duration(values.latency),
  settings: { tokenLifetimeMs: duration(values["token-lifetime"]) },
  credentials: { username, password, domain },
  ...(cert && key
    ? { tls: { cert: readFileSync(cert, "utf8"), key: readFileSync(key, "utf8") } }
    : {}),
  ...(values["extra-calls"]
    ? {
        extraCalls: {
          disableKey: { method: "POST", path: `${account}/keys/{keyId}/disable` },
          deleteKey: { method: "DELETE", path: `${account}/keys/{keyId}` },
          deleteServiceAccount: { method: "DELETE", path: account },
        },
      }
    : {}),
}).catch((error: Error) => {
  console.error(`error: ${error.message}; --port and --control-port name other ports`);
  process.exit(1);
});

console.log(`IAM console     ${server.url}
control         ${server.controlUrl}   (GET / lists what it can do)

login           username ${username}  password ${password}  domain ${domain}
organization    ${SEEDED.orgId} (${SEEDED.orgName}), project ${SEEDED.projectId}, partition ${SEEDED.partitionId}
policies        ${[...server.world.policies.keys()].join(" ")}
clusters        ${[...server.world.clusters.keys()].join(" ")}

try
  curl -s ${server.url}/api/v1/iam/authn/public/login -H 'content-type: application/json' \\
    -d '{"username":"${username}","password":"${password}","domain":"${domain}"}'
  curl -s ${server.controlUrl}/state
  curl -s ${server.controlUrl}/clock/advance -d '{"by":"24h"}'
  curl -s ${server.controlUrl}/faults -d '{"operation":"issueKey","fault":{"kind":"Reset","when":"AfterCommit"}}'
  curl -s -X DELETE ${server.controlUrl}/faults

Ctrl-C stops it.`);

for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.once(signal, () => {
    void server.close();
  });
}
