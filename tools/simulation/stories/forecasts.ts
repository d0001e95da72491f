/**
 * The forecast of an ApiKey, IssuanceAllowed, is what then happens: it is True if and only if a rotation that is
 * requested in that situation delivers a key. No key is issued where none can be delivered.
 */
import { annotations } from "../../../src/api/meta.ts";
import { secretType } from "../../../src/kube/resource-types.ts";
import {
  apiKeyType,
  clusterConnectionType,
  policyBindingType,
  serviceAccountType,
} from "../../../src/resources/resource-types.ts";
import { DAY, HOUR, MINUTE, SECOND } from "../../../src/util/time.ts";
import { forbidden } from "../../api-server/failure.ts";
import { type Tree, treeAt } from "../../api-server/tree.ts";
import { OPERATOR_NAMESPACE } from "../places.ts";
import { ACCOUNT, inNamespace } from "../scenarios.ts";
import { grant, granting } from "./in-console.ts";
import { OF_MEDDLING, type Story, type StoryWorld, story, unready } from "./story.ts";

/** What may hold for an ApiKey whose key is in use. */
export interface Circumstance {
  readonly what: string;
  /** Whether the next key can be issued if nothing else is in the way. */
  readonly allows: boolean;
  readonly arrange: (world: StoryWorld) => void;
}

/** What stops the next key, and how it ends. */
const ended: readonly {
  readonly what: string;
  readonly reason: string;
  readonly begins: (world: StoryWorld) => void;
  readonly ends: (world: StoryWorld) => void;
}[] = [
  {
    what: "a suspension",
    reason: "Suspended",
    begins: (world) => world.change(apiKeyType, "ci", { suspend: true }),
    ends: (world) => world.change(apiKeyType, "ci", { suspend: false }),
  },
  {
    what: "an annotation",
    reason: "PlanOnly",
    begins: (world) => world.annotate(apiKeyType, "ci", { [annotations.planOnly]: "true" }),
    ends: (world) => world.annotate(apiKeyType, "ci", { [annotations.planOnly]: null }),
  },
  {
    what: "an immutable Secret",
    reason: "SecretImmutable",
    begins: (world) => world.happens({ kind: "EditSecret", how: "MakeImmutable" }),
    ends: createMutable,
  },
];

/** The Secret as it was, but not immutable. */
function createMutable({ sim }: StoryWorld): void {
  const { immutable: _, metadata, ...secret } = sim.get(secretType, "ci") ?? {};
  const { name, namespace, labels, annotations: notes } = metadata as Tree;
  sim.meddle(() => {
    sim.delete(secretType, "ci");
    sim.create(secretType, {
      ...secret,
      metadata: { name, namespace, labels, annotations: notes },
    });
  });
}

const PLAN_ONLY = { [annotations.planOnly]: "true" };

const stops: readonly Omit<Circumstance, "allows">[] = [
  {
    what: "it is suspended",
    arrange: (world) => world.change(apiKeyType, "ci", { suspend: true }),
  },
  { what: "it is plan-only", arrange: (world) => world.annotate(apiKeyType, "ci", PLAN_ONLY) },
  {
    what: "its stored spec is invalid",
    arrange: (world) =>
      world.change(apiKeyType, "ci", { secret: { data: { "no name": "x", secret: "${secret}" } } }),
  },
  {
    what: "the connection is suspended",
    arrange: (world) => world.change(clusterConnectionType, "default", { suspend: true }),
  },
  {
    what: "the console rejects the connection's login",
    arrange: (world) => {
      const stringData = { password: "wrong" };
      world.sim.patch(secretType, "console-login", { stringData }, undefined, OPERATOR_NAMESPACE);
    },
  },
  { what: "the grant is gone", arrange: (world) => grant(world, "Nothing") },
  {
    what: "the grant forbids its lifetime",
    arrange: (world) => grant(world, { maxExpiresInDays: 2 }),
  },
  {
    what: "its Secret is immutable",
    arrange: (world) => world.happens({ kind: "EditSecret", how: "MakeImmutable" }),
  },
  {
    what: "its Secret was replaced by another",
    arrange: (world) => {
      world.sim.delete(secretType, "ci");
      world.sim.create(secretType, { metadata: inNamespace("ci"), data: {} });
    },
  },
  {
    what: "its account is being deleted",
    arrange: (world) => world.sim.delete(serviceAccountType, ACCOUNT),
  },
  {
    what: "its account is missing",
    arrange: (world) => {
      world.happens({ kind: "RemoveFinalizers", plural: "serviceaccounts" });
      world.happens({ kind: "DeleteObject", plural: "serviceaccounts" });
    },
  },
  {
    what: "its spec names an account that does not exist",
    arrange: (world) => world.change(apiKeyType, "ci", { serviceAccountRef: { name: "none" } }),
  },
  {
    what: "its account is disabled at the console",
    arrange: (world) => world.happens({ kind: "EndAccounts", how: "Disable" }),
  },
  {
    what: "its account is gone from the console",
    arrange: (world) => world.happens({ kind: "EndAccounts", how: "Delete" }),
  },
];

const noMatter: readonly Omit<Circumstance, "allows">[] = [
  {
    what: "its account is suspended",
    arrange: (world) => world.change(serviceAccountType, ACCOUNT, { suspend: true }),
  },
  {
    what: "access is revoked",
    arrange: (world) => world.change(serviceAccountType, ACCOUNT, { access: "Revoked" }),
  },
  {
    what: "a PolicyBinding is plan-only",
    arrange: (world) => world.annotate(policyBindingType, "reader", PLAN_ONLY),
  },
  {
    what: "its Secret was edited",
    arrange: (world) => world.happens({ kind: "EditSecret", how: "TearPair" }),
  },
  {
    what: "its key is disabled at the console",
    arrange: (world) => world.happens({ kind: "EndKeys", how: "Disable" }),
  },
];

/** Refuses the operator's Secrets of this name from now on, like an admission policy. */
function refuse(world: StoryWorld, name: string): void {
  const { kube } = world.sim;
  kube.admission.push(({ kind }, object) => {
    const isNamed = kind.type.kind === "Secret" && treeAt(object, "metadata").name === name;
    if (isNamed && kube.actor === "operator") throw forbidden("no");
  });
}

/** What only a rehearsal shows. */
const unseen: readonly Omit<Circumstance, "allows">[] = [
  { what: "a policy refuses the pending Secret", arrange: (world) => refuse(world, "ci-next") },
  { what: "a policy refuses a change of its Secret", arrange: (world) => refuse(world, "ci") },
  {
    what: "a Secret has the name of the pending Secret",
    arrange: (world) =>
      world.sim.create(secretType, { metadata: inNamespace("ci-next"), data: {} }),
  },
];

export const circumstances: readonly Circumstance[] = [
  ...[...stops, ...unseen].map((each) => ({ ...each, allows: false })),
  ...noMatter.map((each) => ({ ...each, allows: true })),
];

/** Where Secrets are not watched, they are read every five minutes. */
const NOTICED_MS = 7 * MINUTE;

export function forecastStory(...situation: readonly Circumstance[]): Story {
  const what = situation.map((each) => each.what).join(" and ");
  const allowed = situation.every(({ allows }) => allows);
  const name = `the forecast of the next key is what happens if ${what || "nothing is special"}`;
  return unready(
    name,
    async (world) => {
      await world.begin({ connection: granting({}) });
      // A missing account cannot be changed any more.
      for (const { arrange } of situation.toReversed()) arrange(world);
      world.annotate(apiKeyType, "ci", { [annotations.reconcileRequestedAt]: "now" });
      await world.pass(NOTICED_MS);
      const said = world.condition(apiKeyType, "ci", "IssuanceAllowed");
      const forecast = `${said?.status} ${said?.reason}: ${said?.message}`;
      world.expect(forecast, said?.status, allowed ? "True" : "False");
      const { issued } = world;
      const before = world.key().status?.current?.keyId;
      world.rotate("now");
      await world.pass(NOTICED_MS);
      const after = world.key().status?.current?.keyId;
      const isDelivered = after !== before && world.secret().keyId === after;
      world.expect("whether a key is delivered", isDelivered, allowed);
      world.expect("keys issued", world.issued - issued, allowed ? 1 : 0);
    },
    { excuses: OF_MEDDLING },
  );
}

function forecastOf(world: StoryWorld) {
  const { status, reason } = world.condition(apiKeyType, "ci", "IssuanceAllowed") ?? {};
  return [status, reason];
}

/** The key is renewed in an hour, and its issue counts for a day. */
function grantStory(most: number, allowed: boolean): Story {
  const what = allowed ? "permits the renewal" : "lasts beyond the renewal";
  return unready(`whether the limit of a grant ${what} is foreseen`, async (world) => {
    const rotation = { renewBefore: "47h" };
    const connection = granting({ maxIssuesPerDay: most });
    await world.begin({ connection, key: { expiresInDays: 2, rotation } });
    const wanted = allowed ? ["True", "Allowed"] : ["False", "NamespaceBudgetExceeded"];
    world.expect("the forecast", forecastOf(world), wanted);
    await world.pass(2 * HOUR);
    world.expect("whether the key is renewed", world.issued > 1, allowed);
    world.rotate("now");
    await world.pass(NOTICED_MS);
    world.expect("a requested rotation counts", world.issued, most);
    await world.pass(DAY - 2 * HOUR);
    world.expect("the next key follows a day after the first", world.issued, most + 1);
  });
}

export const forecastStories: readonly Story[] = [
  forecastStory(),
  grantStory(1, false),
  grantStory(3, true),
  unready("a daily limit that lasts beyond the renewal is foreseen", async (world) => {
    const rotation = { renewBefore: "47h" };
    await world.begin({ key: { expiresInDays: 2, maxIssuesPerDay: 2, rotation } });
    world.expect("nothing stops the renewal", forecastOf(world), ["True", "Allowed"]);
    world.happens({ kind: "DeleteSecret" });
    await world.pass(NOTICED_MS);
    world.expect("it is foreseen", forecastOf(world), ["False", "BudgetExceeded"]);
    await world.pass(2 * HOUR);
    world.expect(
      "and comes true",
      [world.issued, ...forecastOf(world)],
      [2, "False", "BudgetExceeded"],
    );
    await world.pass(DAY - 2 * HOUR);
    world.expect("the renewal follows", world.issued, 3);
  }),
  unready("a limit that ends with time hides no policy", async (world) => {
    await world.begin({ key: { maxIssuesPerDay: 1 } });
    refuse(world, "ci-next");
    world.annotate(apiKeyType, "ci", { [annotations.reconcileRequestedAt]: "now" });
    await world.pass(MINUTE);
    world.expect("it is foreseen", forecastOf(world), ["False", "SecretRejected"]);
  }),
  unready("a Secret that is in the way of the next key is gone", async (world) => {
    await world.begin();
    world.sim.create(secretType, { metadata: inNamespace("ci-next"), data: {} });
    world.annotate(apiKeyType, "ci", { [annotations.reconcileRequestedAt]: "now" });
    await world.pass(MINUTE);
    world.expect("it is foreseen", forecastOf(world), ["False", "SecretConflict"]);
    world.sim.delete(secretType, "ci-next");
    await world.pass(HOUR + MINUTE);
    world.expect("its end within an hour", forecastOf(world), ["True", "Allowed"]);
  }),
  unready(
    "a policy that comes later is foreseen within a day, and its end within an hour",
    async (world) => {
      await world.begin();
      refuse(world, "ci-next");
      await world.pass(DAY + HOUR);
      world.expect("it is foreseen", forecastOf(world), ["False", "SecretRejected"]);
      world.happens({ kind: "Kill" });
      await world.pass(MINUTE);
      world.expect("a start forgets nothing", forecastOf(world), ["False", "SecretRejected"]);
      world.sim.kube.admission.pop();
      await world.pass(HOUR + MINUTE);
      world.expect("so is its end", forecastOf(world), ["True", "Allowed"]);
      world.expect("no other key is issued", world.issued, 1);
    },
  ),
  story("a new pair that a policy keeps out of its Secret is told", async (world) => {
    await world.begin();
    world.fault("searchActions", { kind: "Refuse", status: 503 }, 10_000);
    world.rotate("now");
    await world.pass(30 * SECOND);
    refuse(world, "ci");
    world.cease();
    await world.pass(2 * MINUTE);
    world.expect("the next key waits", forecastOf(world), ["False", "SecretRejected"]);
    const { message = "" } = world.condition(apiKeyType, "ci", "IssuanceAllowed") ?? {};
    world.expect("where its pair is", message.includes("its pair waits in Secret ci-next"));
    world.expect("with one reason", world.condition(apiKeyType, "ci")?.reason, "SecretRejected");
    world.sim.kube.admission.pop();
    await world.pass(10 * MINUTE);
    world.expect("it is delivered", forecastOf(world), ["True", "Allowed"]);
    world.expect("no other key is issued", world.issued, 2);
  }),
  story(
    "a new pair that waits for an immutable Secret is named, and not written",
    async (world) => {
      await world.begin();
      world.fault("searchActions", { kind: "Refuse", status: 503 }, 10_000);
      world.rotate("now");
      await world.pass(30 * SECOND);
      world.happens({ kind: "EditSecret", how: "MakeImmutable" });
      const writes = world.calls("patch secrets");
      world.cease();
      await world.pass(15 * MINUTE);
      world.expect("the next key waits", forecastOf(world), ["False", "SecretImmutable"]);
      const { reason, message = "" } = world.condition(apiKeyType, "ci") ?? {};
      world.expect("with one reason", reason, "SecretImmutable");
      world.expect("where its pair is", message.includes("its pair waits in Secret ci-next"));
      world.expect("no write is tried", world.calls("patch secrets"), writes);
      world.happens({ kind: "DeleteSecret" });
      await world.pass(MINUTE);
      world.expect("it is delivered", world.secret().keyId, world.live[1]);
      world.expect("no other key is issued", world.issued, 2);
    },
  ),
  unready("a requested rotation that a policy stops is said to wait", async (world) => {
    await world.begin();
    refuse(world, "ci-next");
    world.rotate("now");
    await world.pass(MINUTE);
    const { reason, message = "" } = world.condition(apiKeyType, "ci", "IssuanceAllowed") ?? {};
    world.expect("the reason", reason, "SecretRejected");
    world.expect("the request", message.startsWith("A rotation was requested by annotation."));
    world.expect("both ways out", /Declare in spec.secret .*, exempt/.test(message));
  }),
  unready("a policy that allows what is declared now is noticed at once", async (world) => {
    await world.begin();
    world.sim.kube.admission.push(({ kind }, object) => {
      const { labels = {} } = treeAt(object, "metadata");
      if (kind.type.kind === "Secret" && !("team" in (labels as object))) throw forbidden("no");
    });
    world.annotate(apiKeyType, "ci", { [annotations.reconcileRequestedAt]: "now" });
    await world.pass(MINUTE);
    world.expect("it is foreseen", forecastOf(world), ["False", "SecretRejected"]);
    world.change(apiKeyType, "ci", { secret: { labels: { team: "a" } } });
    await world.pass(MINUTE);
    world.expect("and its end", forecastOf(world), ["True", "Allowed"]);
    world.rotate("now");
    await world.pass(MINUTE);
    world.expect("both Secrets have the label", world.issued, 2);
  }),
  ...circumstances.map((one) => forecastStory(one)),
  ...ended.map(({ what, begins, ends, reason }) =>
    story(
      `what is over is not repeated for as long as the console is down: ${what}`,
      async (world) => {
        await world.begin();
        begins(world);
        await world.pass(MINUTE);
        world.expect("it was said", forecastOf(world), ["False", reason]);
        for (const operation of ["getServiceAccount", "listBindings", "searchActions", "login"])
          world.fault(operation, { kind: "Reset", when: "BeforeCommit" }, 10_000);
        await world.pass(MINUTE);
        ends(world);
        world.annotate(apiKeyType, "ci", { [annotations.reconcileRequestedAt]: "1" });
        await world.pass(MINUTE);
        world.expect("it is over", forecastOf(world), ["True", "Allowed"]);
      },
    ),
  ),
  unready(
    "a refused key is not said to be replaced where no other can be delivered",
    async (world) => {
      await world.begin();
      refuse(world, "ci-next");
      world.happens({ kind: "EndKeys", how: "Disable" });
      world.annotate(apiKeyType, "ci", { [annotations.reconcileRequestedAt]: "now" });
      await world.pass(5 * SECOND);
      world.expect("the key is refused", world.condition(apiKeyType, "ci")?.reason, "KeyRefused");
      world.expect("and none follows", forecastOf(world), ["False", "SecretRejected"]);
    },
  ),
  story("an immutable Secret with other content is left as it is, and said", async (world) => {
    await world.begin();
    world.sim.patch(secretType, "ci", { stringData: { extra: "text" }, immutable: true });
    await world.pass(2 * HOUR);
    const { status, reason } = world.condition(apiKeyType, "ci") ?? {};
    world.expect("the key in use works", [status, reason], ["True", "SecretImmutable"]);
    const why = world.condition(apiKeyType, "ci", "IssuanceAllowed")?.reason;
    world.expect("why no other key follows", why, "SecretImmutable");
  }),
  unready("an immutable Secret is not forgotten by runs that do not read it", async (world) => {
    await world.begin();
    world.happens({ kind: "EditSecret", how: "MakeImmutable" });
    await world.pass(MINUTE);
    world.change(apiKeyType, "ci", { maxIssuesPerDay: 3 });
    await world.pass(MINUTE);
    const { reason } = world.condition(apiKeyType, "ci", "IssuanceAllowed") ?? {};
    world.expect("it is known", reason, "SecretImmutable");
  }),
];
