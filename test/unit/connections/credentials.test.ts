import { expect, test } from "vitest";
import type { ConnectionSpec } from "../../../src/api/connection.ts";
import { credentialsSource, parseCredentials } from "../../../src/connections/credentials.ts";
import type { Secret } from "../../../src/controllers/resource-types.ts";
import { connectionSpec, tokenCredentials } from "../controllers/connection/specs.ts";

const at = { namespace: "iam-system", name: "console-login" };
const secret = (values: Record<string, string>): Secret => ({
  metadata: { name: at.name, namespace: at.namespace },
  data: Object.fromEntries(
    Object.entries(values).map(([key, value]) => [key, Buffer.from(value).toString("base64")]),
  ),
});
const read = (spec: ConnectionSpec, stored: Secret | undefined) =>
  parseCredentials(spec, credentialsSource(spec, at.namespace), stored);
const complete = { username: "operator", password: "pass word\n", domain: "acme\r\n" };

test("a login is read without the line breaks that echo leaves", () => {
  const finding = read(connectionSpec(), secret(complete));
  expect(finding).toMatchObject({
    ok: true,
    credentials: { kind: "login", username: "operator", domain: "acme" },
  });
  expect(
    finding.ok && finding.credentials.kind === "login" && finding.credentials.password.reveal(),
  ).toBe("pass word");
});

test("a token is read from the key that the spec names", () => {
  const finding = read(connectionSpec(tokenCredentials), secret({ token: "t" }));
  expect(
    finding.ok && finding.credentials.kind === "token" && finding.credentials.token.reveal(),
  ).toBe("t");
});

test("a login is read from the entries that the spec names", () => {
  const secretRef = { name: "console-login", usernameKey: "user", domainKey: "realm" };
  const spec = connectionSpec({ credentials: { login: { secretRef } } });
  const found = secret({ user: "operator", password: "word", realm: "acme", username: "other" });
  expect(read(spec, found)).toMatchObject({
    ok: true,
    credentials: { username: "operator", domain: "acme" },
  });
  expect(read(spec, secret(complete))).toMatchObject({
    reason: "SecretIncomplete",
    message: expect.stringContaining("needs the keys user, password, realm"),
  });
});

test("a credential does not print", () => {
  const finding = read(connectionSpec(), secret(complete));
  expect(JSON.stringify(finding)).not.toContain("pass word");
});

test.each([
  {
    name: "a missing Secret is named with what it needs",
    secret: undefined,
    reason: "SecretNotFound",
    message:
      "The credentials Secret iam-system/console-login does not exist; create it with the keys username, password, domain.",
  },
  {
    name: "a missing key is named, and no key that the spec does not name",
    secret: secret({ username: "operator", passwd: "x" }),
    reason: "SecretIncomplete",
    message:
      "The credentials Secret iam-system/console-login needs the keys username, password, domain; missing or empty: password, domain.",
  },
  {
    name: "an empty value is none",
    secret: secret({ ...complete, password: "\n" }),
    reason: "SecretIncomplete",
    message:
      "The credentials Secret iam-system/console-login needs the keys username, password, domain; missing or empty: password.",
  },
  {
    name: "a Secret without data has no keys",
    secret: { metadata: { name: "console-login" } },
    reason: "SecretIncomplete",
    message:
      "The credentials Secret iam-system/console-login needs the keys username, password, domain; missing or empty: username, password, domain.",
  },
])("$name", ({ secret: stored, reason, message }) => {
  expect(read(connectionSpec(), stored)).toEqual({ ok: false, reason, message });
});
