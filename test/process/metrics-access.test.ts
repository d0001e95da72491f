/** Metrics over HTTPS: the real API server says who may read them. */
import { request } from "node:https";
import { expect, test } from "vitest";
import { freePorts } from "../cluster/ports.ts";
import { until } from "../real-world/until.ts";
import { useServers } from "../real-world/use-servers.ts";

const servers = useServers();

test("only who may get /metrics reads them, and nobody while the operator may not ask", async () => {
  const { kubectl } = servers();
  const world = await servers().openWorld();
  const [port = 0] = await freePorts(1);
  const operator = await world.startProgram({
    args: ["--metrics-secure", `--metrics-address=127.0.0.1:${port}`],
  });
  await operator.untilReady();
  const tokenOf = async (account: string) => {
    await kubectl(["create", "serviceaccount", account, `-n=${world.namespace}`]);
    return (await kubectl(["create", "token", account, `-n=${world.namespace}`])).trim();
  };
  const [reader, stranger] = [await tokenOf("reader"), await tokenOf("stranger")];
  await kubectl(["create", "clusterrole", "scrape", "--verb=get", "--non-resource-url=/metrics"]);
  const subject = `--serviceaccount=${world.namespace}:reader`;
  await kubectl(["create", "clusterrolebinding", "scrape", "--clusterrole=scrape", subject]);

  expect((await get(port, "/metrics")).status).toBe(401);
  expect((await get(port, "/metrics", reader)).status).toBe(503);

  const delegate = ["create", "clusterrolebinding", "ask", "--clusterrole=system:auth-delegator"];
  await kubectl([...delegate, "--user=operator"]);
  // The API server takes note of a new binding within a moment.
  await until("the metrics", async () => (await get(port, "/metrics", reader)).status === 200);
  const page = await get(port, "/metrics", reader);
  expect(page.text).toContain("iam_operator_store_synced");
  expect((await get(port, "/metrics", stranger)).status).toBe(403);
  expect((await get(port, "/metrics", `${reader.slice(0, -8)}AAAAAAAA`)).status).toBe(401);
  expect((await get(port, "/metrics")).status).toBe(401);
  await expect(fetch(`http://127.0.0.1:${port}/metrics`)).rejects.toThrow();
  expect(operator.output()).not.toContain(reader);
});

/** Without a look at the certificate, which is a self-signed one. */
function get(
  port: number,
  path: string,
  token?: string,
): Promise<{ status?: number; text: string }> {
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const options = { host: "127.0.0.1", port, path, headers, rejectUnauthorized: false };
  return new Promise((resolve, reject) => {
    request(options, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (chunk) => {
        text += chunk;
      });
      response.once("end", () => resolve({ status: response.statusCode ?? 0, text }));
    })
      .once("error", reject)
      .end();
  });
}
