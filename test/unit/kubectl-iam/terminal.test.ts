/** What servers say never reaches the terminal as a command, whichever command of the plugin prints it. */
import { expect, test } from "vitest";
import { processIo } from "../../../src/kubectl-iam/cli/process-io.ts";
import { checkConnections } from "../../../src/kubectl-iam/doctor/connections.ts";
import { screenOf } from "../../../src/kubectl-iam/view/screen.ts";
import { fakeIo } from "./support/fake-io.ts";

const HOSTILE =
  "a\u001b[2J\u001b]0;title\u0007b\u009b31mc\u202ed\u2066e\r\u200bf\u{e0001}g\u001b[8mh";

function terminal() {
  const written: string[] = [];
  const stream = (isTTY: boolean) => ({
    isTTY,
    columns: 80,
    hasColors: () => true,
    write: (text: string) => void written.push(text),
  });
  const process = {
    argv: ["node", "kubectl-iam"],
    env: {},
    stdin: { isTTY: false },
    stdout: stream(true),
    stderr: stream(true),
    once: () => undefined,
  };
  return { io: processIo(process as unknown as NodeJS.Process), written };
}

test("output does not contain control, C1 or bidi characters, and JSON keeps its value", () => {
  const { io, written } = terminal();
  const json = JSON.stringify({ [HOSTILE]: HOSTILE });
  io.print(json);
  io.print(HOSTILE);
  io.note(HOSTILE);
  for (const text of written) expect(text).toMatch(/^[^\p{Cc}\p{Cf}]+\n$/u);
  expect(JSON.parse(written[0] ?? "")).toEqual({ [HOSTILE]: HOSTILE });
});

test("tables keep their colors and lines", () => {
  const { io, written } = terminal();
  const text = `${screenOf(io).paint("bad", "failed")}\tx\n${screenOf(io).paint("bold", "y")}`;
  expect(text).toContain("\u001b[31m");
  io.print(text);
  expect(written).toEqual([`${text}\n`]);
});

test("in all namespaces, a tenant's console is only tried on request", async () => {
  const { io } = fakeIo();
  const connection = {
    kind: "Connection",
    metadata: { name: "own", namespace: "team-a" },
    spec: {
      baseURL: "http://console.example.com",
      insecureHTTP: true,
      orgId: "org-1",
      domainName: "acme",
      credentials: { login: { secretRef: { name: "login" } } },
    },
    status: { conditions: [] },
  };
  const world = { clusterConnections: [], connections: [connection] };
  const check = (options: object) =>
    checkConnections({ io, options, args: [] } as never, noCluster as never, world as never);
  expect(await check({ allNamespaces: true })).toMatchObject({
    answers: [],
    findings: [{}, { verdict: "skipped", found: expect.stringContaining("--tenant-logins") }],
  });
  for (const options of [{ allNamespaces: true, tenantLogins: true }, {}])
    await expect(check(options)).rejects.toThrow("asked for the login");
});

const noCluster = {
  namespace: "default",
  kube: {
    get: () => {
      throw new Error("asked for the login");
    },
  },
};
