/** Traces of the real process at a real receiver. */
import { expect, test } from "vitest";
import { freePorts } from "../cluster/ports.ts";
import { findLeaks } from "../real-world/leaks.ts";
import { until } from "../real-world/until.ts";
import { useSharedServers } from "../real-world/use-servers.ts";
import { startTraceReceiver } from "../support/trace-receiver.ts";

const servers = useSharedServers();

test("a trace leads from the pass over an object to its calls, with the console's names for them", async () => {
  const receiver = await startTraceReceiver();
  const world = await servers().openWorld();
  const operator = await world.startProgram({
    environment: { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url },
  });
  try {
    await operator.untilReady();
    await world.createAccounts(["ci"]);
    await world.createKeys([{ name: "one", account: "ci" }]);
    await world.ready("ApiKey", "one");
    expect(await operator.stop()).toEqual({ code: 0, signal: null });
  } finally {
    await operator.kill();
    await receiver.close();
  }

  const { spans } = receiver;
  const parentOf = ({ parentSpanId }: (typeof spans)[number]) =>
    spans.find(({ spanId }) => spanId === parentSpanId);
  const issue = spans.find(({ name }) => name === "console issueKey");
  expect(issue?.fields).toMatchObject({
    operation: "issueKey",
    "http.request.method": "POST",
    "http.response.status_code": 201,
  });
  const pass = issue && parentOf(issue);
  expect(pass).toMatchObject({
    name: "reconcile ApiKey",
    traceId: issue?.traceId,
    fields: { controller: "ApiKey", namespace: world.namespace, name: "one", outcome: "Success" },
  });
  const siblings = spans.filter(({ parentSpanId }) => parentSpanId === pass?.spanId);
  const written = siblings.filter(({ name }) => name === "kubernetes PATCH");
  expect(written.map(({ fields }) => fields["url.path"])).toContain(
    `/apis/iam-operator.io/v1alpha1/namespaces/${world.namespace}/apikeys/one/status`,
  );

  // Answers in the console's envelope name their request.
  const listings = spans.filter(({ name }) => name === "console searchActions");
  expect(listings.length).toBeGreaterThan(0);
  for (const { fields } of listings) expect(fields.requestId).toMatch(/^[0-9a-f-]{36}$/);

  const calls = spans.filter(({ name }) => name.startsWith("console "));
  const seen = world.iam.requests.all.map(({ operation }) => operation);
  expect(calls.map(({ fields }) => fields.operation).toSorted()).toEqual(seen.toSorted());
  expect(calls.filter((call) => !parentOf(call)?.name.startsWith("reconcile "))).toEqual([]);

  expect(findLeaks({ traces: receiver.text() }, world.secrets())).toEqual([]);
  for (const { fields } of spans) expect(`${fields["url.path"]}`).not.toContain("?");
});

test("a receiver that is not there costs one line in the log, and nothing else", async () => {
  const [port] = await freePorts(1);
  const world = await servers().openWorld();
  const operator = await world.startProgram({
    environment: { OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}` },
  });
  const lines = () => operator.log().filter(({ msg }) => msg === "traces are not taken");
  try {
    await operator.untilReady();
    await world.createAccounts(["ci"]);
    await world.createKeys([{ name: "one", account: "ci" }]);
    await until("a word about it", () => lines().length > 0);
    await world.ready("ApiKey", "one");
    expect(await operator.stop()).toEqual({ code: 0, signal: null });
    expect(lines()).toHaveLength(1);
  } finally {
    await operator.kill();
  }
});
