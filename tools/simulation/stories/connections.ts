/** Connections: who may use them, and which credentials they use when. */
import { FINALIZER } from "../../../src/api/meta.ts";
import { namespaceType, secretType } from "../../../src/kube/resource-types.ts";
import { selfSigned } from "../../../src/observability/self-signed.ts";
import {
  apiKeyType,
  clusterConnectionType,
  configMapType,
  policyBindingType,
  serviceAccountType,
} from "../../../src/resources/resource-types.ts";
import { HOUR, MINUTE, SECOND } from "../../../src/util/time.ts";
import type { Tree } from "../../api-server/tree.ts";
import { DEFAULT_CREDENTIALS } from "../../iam-server/seed.ts";
import { NAMESPACE, OPERATOR_NAMESPACE } from "../places.ts";
import { ACCOUNT, DEPLOY, READ } from "../scenarios.ts";
import { connectionSpec } from "../sim-world.ts";
import { type Story, type StoryWorld, story, unready } from "./story.ts";

const WRONG = "not-the-password";
const NO_TOKEN = '{"requestId":"r-1","result":{"accessToken":null,"mfaRequired":false}}';

const all = { namespaces: { names: ["team-a"] } };

function setLogin(world: StoryWorld, stringData: Tree): void {
  world.sim.patch(secretType, "console-login", { stringData }, undefined, OPERATOR_NAMESPACE);
}

function setPassword(world: StoryWorld, password: string): void {
  const { users } = world.sim.console.world;
  const user = users.get(DEFAULT_CREDENTIALS.username);
  if (user !== undefined) user.password = password;
}

function connectionReason(world: StoryWorld): string | undefined {
  return world.condition(clusterConnectionType, "default", "Ready", "")?.reason;
}

const READS = ["getServiceAccount", "listServiceAccounts", "listBindings", "searchActions"];

export const connectionStories: readonly Story[] = [
  story("web pages of a gateway are an outage of the console until it answers", async (world) => {
    await world.begin();
    for (const operation of READS) world.rewrite(operation, () => " <html>Blocked</html>");
    await world.pass(12 * MINUTE);
    const {
      status,
      reason,
      message = "",
    } = world.condition(clusterConnectionType, "default", "Ready") ?? {};
    world.expect("it is said", [status, reason], ["False", "ConsoleUnavailable"]);
    world.expect("what answers", message.includes("web pages have answered in place"));
    const secret = world.secret();
    world.cease();
    await world.pass(2 * MINUTE);
    const ready = world.condition(clusterConnectionType, "default", "Ready");
    world.expect("then it is Ready", ready?.status, "True");
    world.expect("consumers keep their pair", world.secret(), secret);
  }),
  story("web pages of one call are not", async (world) => {
    await world.begin();
    world.rewrite("listBindings", () => "<html>Blocked</html>");
    await world.pass(12 * MINUTE);
    const { status } = world.condition(clusterConnectionType, "default", "Ready") ?? {};
    world.expect("the connection is Ready", status, "True");
  }),
  unready("a namespace whose labels are not known yet gets nothing", async (world) => {
    const namespaces = { selector: { matchLabels: { tier: "prod" } } };
    world.strikeWatch("namespaces", { kind: "Late", ms: 20 * SECOND });
    await world.begin({
      connection: {
        grants: [
          { name: "all", ...all },
          { name: "prod", namespaces },
        ],
      },
    });
    world.sim.create(namespaceType, { metadata: { name: "team-b", labels: { tier: "test" } } });
    world.sim.create(serviceAccountType, {
      metadata: { name: "theirs", namespace: "team-b" },
      spec: {},
    });
    await world.pass(2 * MINUTE);
    world.expect("one account", world.sim.console.world.accounts.size, 1);
  }),
  story("grants of a namespace add up", async (world) => {
    const grants = [
      { name: "one", ...all, policyIds: [READ] },
      { name: "two", ...all, policyIds: [DEPLOY], maxServiceAccounts: 5 },
    ];
    await world.begin({ connection: { grants } });
    await world.expectReady();
    world.expect("policies of both are bound", world.bound, [DEPLOY, READ]);
    const logins = world.calls("login");
    world.change(clusterConnectionType, "default", { grants: grants.toReversed() });
    await world.pass(5 * MINUTE);
    world.expect("nobody logs in again for grants", world.calls("login"), logins);
  }),
  story("one grant that permits to import is enough", async (world) => {
    const theirs = world.sim.console.world.createAccount({
      orgId: connectionSpec.orgId as string,
      projectId: connectionSpec.projectId as string,
      name: "old",
      description: "",
    });
    const grants = [
      { name: "one", ...all, policyIds: ["*"] },
      { name: "two", ...all, importServiceAccounts: true },
    ];
    await world.begin({ account: { saId: theirs.saId }, connection: { grants } });
  }),
  unready("a connection that is used is not deleted", async (world) => {
    await world.begin({ policyIds: [READ] });
    world.sim.delete(clusterConnectionType, "default");
    await world.pass(10 * MINUTE);
    world.expect("it stays", world.sim.get(clusterConnectionType, "default") !== undefined);
    world.sim.delete(apiKeyType, "ci");
    world.sim.delete(policyBindingType, "reader");
    world.sim.delete(serviceAccountType, ACCOUNT);
    await world.pass(15 * MINUTE);
    world.expect("nothing is bound", world.bound, []);
    world.expect("then it goes", world.sim.get(clusterConnectionType, "default"), undefined);
  }),
  story("credentials that were changed are used", async (world) => {
    await world.begin();
    setPassword(world, "another-password");
    setLogin(world, { password: "another-password" });
    world.sim.console.world.revokeTokens();
    world.rotate("one");
    await world.pass(2 * MINUTE);
    world.expect("a key was issued with them", world.issued, 2);
  }),
  unready("credentials that the connection no longer names are not used", async (world) => {
    await world.begin();
    world.sim.create(secretType, {
      metadata: { name: "other", namespace: OPERATOR_NAMESPACE },
      stringData: { ...DEFAULT_CREDENTIALS, password: WRONG },
    });
    world.fault("get secrets", { kind: "Slow", ms: 5 * SECOND }, 10);
    world.change(clusterConnectionType, "default", {
      credentials: { login: { secretRef: { name: "other" } } },
    });
    await world.pass(SECOND / 2);
    world.rotate("one");
    await world.pass(MINUTE);
    world.expect("no key is issued", world.issued, 1);
  }),
  story("wrong credentials are tried less and less, and right ones at once", async (world) => {
    setLogin(world, { password: WRONG });
    await world.begin();
    await world.pass(HOUR);
    world.expect("few logins", world.calls("login") <= 12);
    setLogin(world, { password: DEFAULT_CREDENTIALS.password });
    await world.pass(MINUTE);
    world.expect("the account is there", world.sim.console.world.accounts.size, 1);
  }),
  story(
    "a wrong password that is answered with 200 is tried as rarely as a rejected one",
    async (world) => {
      await world.begin();
      for (let n = 0; n < 20; n += 1)
        world.sim.create(serviceAccountType, {
          metadata: { name: `another-${n}`, namespace: NAMESPACE },
          spec: {},
        });
      await world.pass(MINUTE);
      const logins = world.calls("login");
      world.fault("login", { kind: "Answer", body: NO_TOKEN }, 3);
      setLogin(world, { password: WRONG });
      for (let n = 0; n < 20; n += 1) {
        await world.pass(5 * SECOND);
        const annotations = { "iam-operator.io/reconcile-requested-at": `${n}` };
        world.sim.patch(serviceAccountType, `another-${n}`, { metadata: { annotations } });
      }
      for (const _ of ["first", "second"])
        await world.until(() => world.calls("login") - logins >= 4);
      const tried = world.calls("login");
      world.expect("three logins, and one after a pause", tried - logins, 4);
      setLogin(world, { note: "a change of the Secret that leaves the credentials" });
      await world.pass(15 * SECOND);
      world.expect("no login for it", world.calls("login"), tried);
      setLogin(world, { password: DEFAULT_CREDENTIALS.password });
      await world.pass(2 * MINUTE);
      world.expect("the right password is tried at once", connectionReason(world), "Authenticated");
    },
  ),
  unready("a page in place of a login says where to look", async (world) => {
    world.fault("login", { kind: "Intercept", how: "Page" }, 100);
    await world.begin();
    await world.pass(MINUTE / 2);
    const { reason, message = "" } =
      world.condition(clusterConnectionType, "default", "Ready", "") ?? {};
    world.expect("the reason", reason, "LoginPaused");
    world.expect("the address", message.includes("spec.baseURL"));
    world.expect("the credentials", message.includes("the credentials Secret"));
    await world.pass(HOUR);
    world.expect("few logins", world.calls("login") <= 9);
  }),
  story("empty credentials are not tried", async (world) => {
    setLogin(world, { password: "" });
    await world.begin();
    await world.pass(10 * MINUTE);
    world.expect("no login", world.calls("login"), 0);
    setLogin(world, { password: DEFAULT_CREDENTIALS.password });
    await world.pass(MINUTE);
  }),
  story("a connection logs in once, and counts its users", async (world) => {
    await world.begin();
    const { metadata, status } = world.sim.get(clusterConnectionType, "default", "") as {
      metadata: Tree;
      status: Tree;
    };
    world.expect("one login", world.calls("login"), 1);
    world.expect("its users", status.users, 1);
    world.expect("its finalizer", metadata.finalizers, [FINALIZER]);
  }),
  story(
    "a connection whose Secret is missing says so, and logs in when it is there",
    async (world) => {
      const secretRef = { name: "other" };
      await world.begin({ connection: { credentials: { login: { secretRef } } } });
      world.expect("it says so", connectionReason(world), "SecretNotFound");
      world.expect("no login", world.calls("login"), 0);
      world.change(clusterConnectionType, "default", {
        credentials: { login: { secretRef: { name: "console-login" } } },
      });
      await world.pass(10 * SECOND);
      world.expect("then it logs in", connectionReason(world), "Authenticated");
    },
  ),
  unready("a second factor ends the attempts to log in", async (world) => {
    world.happens({ kind: "DemandSecondFactor" });
    await world.begin();
    await world.pass(5 * MINUTE);
    world.expect("it says so", connectionReason(world), "MfaRequired");
    world.expect("one login", world.calls("login"), 1);
  }),
  story(
    "certificates are waited for, one after the other, and a new one is used",
    async (world) => {
      const { cert, key } = selfSigned(world.sim.kernel.now);
      const metadata = (name: string) => ({ name, namespace: OPERATOR_NAMESPACE });
      const putCertificate = () =>
        world.sim.create(secretType, {
          metadata: metadata("operator-tls"),
          type: "kubernetes.io/tls",
          stringData: { "tls.crt": cert, "tls.key": key },
        });
      await world.begin({
        connection: {
          caBundleFrom: { configMapRef: { name: "console-ca" } },
          trustOnlyCABundle: true,
          clientCertificate: { secretRef: { name: "operator-tls" } },
        },
      });
      world.expect(
        "the bundle",
        world.condition(clusterConnectionType, "default", "Ready", "")?.message,
        `The CA bundle's ConfigMap ${OPERATOR_NAMESPACE}/console-ca does not exist; create it with the key ca.crt.`,
      );
      world.sim.create(configMapType, {
        metadata: metadata("console-ca"),
        data: { "ca.crt": cert },
      });
      await world.pass(MINUTE);
      world.expect(
        "the certificate",
        world.condition(clusterConnectionType, "default", "Ready", "")?.message,
        `The client certificate's Secret ${OPERATOR_NAMESPACE}/operator-tls does not exist; create it with the keys tls.crt, tls.key.`,
      );
      world.expect("no login", world.calls("login"), 0);
      putCertificate();
      await world.pass(MINUTE);
      world.expect("then it logs in", connectionReason(world), "Authenticated");
      world.sim.delete(secretType, "operator-tls", OPERATOR_NAMESPACE);
      await world.pass(MINUTE);
      world.expect("without it", connectionReason(world), "SecretNotFound");
      const logins = world.calls("login");
      putCertificate();
      await world.pass(MINUTE);
      world.expect(
        "it logs in again",
        [connectionReason(world), world.calls("login")],
        ["Authenticated", logins + 1],
      );
    },
  ),
  unready("what the operator may not read is said", async (world) => {
    world.fault("get configmaps", { kind: "Refuse", status: 403 }, 10_000);
    await world.begin({ connection: { caBundleFrom: { configMapRef: { name: "console-ca" } } } });
    const { reason, message = "" } =
      world.condition(clusterConnectionType, "default", "Ready", "") ?? {};
    world.expect("it says so", reason, "Forbidden");
    const object = `get configmaps ${OPERATOR_NAMESPACE}/console-ca`;
    world.expect("what", message.startsWith(`The Kubernetes API answered Forbidden: ${object}`));
  }),
  unready("a session ends with its credentials", async (world) => {
    await world.begin();
    world.sim.delete(secretType, "console-login", OPERATOR_NAMESPACE);
    await world.pass(MINUTE);
    world.expect("the connection says so", connectionReason(world), "SecretNotFound");
    world.rotate("one");
    await world.pass(5 * MINUTE);
    world.expect("no key is issued", world.issued, 1);
  }),
];
