/** The Secret of an ApiKey in other hands: made by others, edited, put back; and what the template no longer declares. */
import { annotations } from "../../../src/api/meta.ts";
import { namespaceType, secretType } from "../../../src/kube/resource-types.ts";
import { apiKeyType, serviceAccountType } from "../../../src/resources/resource-types.ts";
import { MINUTE, SECOND } from "../../../src/util/time.ts";
import type { Tree } from "../../api-server/tree.ts";
import { NAMESPACE } from "../places.ts";
import { createKey, inNamespace } from "../scenarios.ts";
import { grant } from "./in-console.ts";
import { type Story, type StoryWorld, story, unready } from "./story.ts";

const LIST = annotations.templateNames;
const refused = (status: number) => ({ kind: "Refuse", status }) as const;

interface Metadata {
  readonly labels: Tree;
  readonly annotations: Tree;
}

function metadataOf(world: StoryWorld): Metadata {
  const { labels = {}, annotations: notes = {} } = (world.sim.get(secretType, "ci")?.metadata ??
    {}) as Partial<Metadata>;
  return { labels, annotations: notes };
}

function conflictOf(world: StoryWorld): string {
  const { reason, message } = world.condition(apiKeyType, "ci", "Stalled") ?? {};
  return `${reason}: ${message}`;
}

/** A Secret is restored from a backup. */
export function putBack(world: StoryWorld, old: Tree): void {
  const { data, metadata } = old as { data: Tree; metadata: Tree };
  world.sim.meddle(() =>
    world.sim.patch(secretType, "ci", {
      data,
      metadata: { annotations: metadata.annotations ?? {} },
    }),
  );
}

/** Another client creates the Secret again with another type, and only these of its entries. */
function remakeWithType(world: StoryWorld, type: string, entries = ["keyId", "secret"]): void {
  const { data } = world.sim.get(secretType, "ci") as { data: Tree };
  const metadata = { ...inNamespace("ci"), ...metadataOf(world) };
  const kept = Object.fromEntries(entries.map((entry) => [entry, data[entry] ?? ""]));
  world.sim.meddle(() => world.sim.delete(secretType, "ci"));
  world.sim.create(secretType, { metadata, type, data: kept });
}

async function render(world: StoryWorld, secret: Tree): Promise<void> {
  world.change(apiKeyType, "ci", { secret });
  await world.pass(7 * MINUTE);
}

function writes(world: StoryWorld): number {
  return world.calls("patch secrets");
}

const foreignSecrets: readonly Story[] = [
  ...["suspended", "plan-only"].map((pause) =>
    story(`an entry that is lost while the ApiKey is ${pause} is reported`, async (world) => {
      await world.begin();
      await world.pass(MINUTE);
      const planOnly = (value: string) => ({ [annotations.planOnly]: value });
      if (pause === "suspended") world.change(apiKeyType, "ci", { suspend: true });
      else world.annotate(apiKeyType, "ci", planOnly("true"));
      await world.pass(MINUTE);
      world.sim.meddle(() => world.sim.patch(secretType, "ci", { data: { keyId: null } }));
      await world.pass(6 * MINUTE);
      const { status, message = "" } = world.condition(apiKeyType, "ci") ?? {};
      world.expect("it is not Ready", status, "False");
      world.expect(
        `what is lost: ${message}`,
        message.includes("workloads might not find entry keyId"),
      );
      if (pause === "suspended") world.change(apiKeyType, "ci", { suspend: false });
      else world.annotate(apiKeyType, "ci", planOnly("false"));
    }),
  ),
  story("a pair that is copied from another ApiKey is not taken for the own one", async (world) => {
    await world.begin();
    createKey(world.sim, "other");
    await world.pass(MINUTE);
    putBack(world, world.sim.get(secretType, "other") ?? {});
    world.annotate(apiKeyType, "ci", { [annotations.reconcileRequestedAt]: "now" });
    await world.pass(MINUTE);
    const [own, other] = ["ci", "other"].map((name) => world.secret(name).keyId);
    world.expect("each has a key of its own", own !== other);
  }),
  story("nor is a pair that is copied from another namespace", async (world) => {
    await world.begin();
    const metadata = { namespace: "team-b" };
    grant(world, { namespaces: { names: ["team-a", "team-b"] } });
    world.sim.create(namespaceType, { metadata: { name: "team-b" } });
    world.sim.create(serviceAccountType, { metadata: { ...metadata, name: "theirs" }, spec: {} });
    const spec = { serviceAccountRef: { name: "theirs" } };
    world.sim.create(apiKeyType, { metadata: { ...metadata, name: "other" }, spec });
    await world.pass(MINUTE);
    const theirs = world.sim.get(secretType, "other", "team-b") ?? {};
    putBack(world, theirs);
    world.annotate(apiKeyType, "ci", { [annotations.reconcileRequestedAt]: "now" });
    await world.pass(MINUTE);
    const told = world.events("ci").join();
    world.expect("the reason", told.includes("(SecretEdited)"));
    world.expect("it has a key of its own", world.secret().keyId, world.live.at(-1));
  }),
  unready("a foreign Secret of the name stays as it is", async (world) => {
    world.sim.create(secretType, { metadata: inNamespace("ci"), stringData: { mine: "yes" } });
    await world.begin();
    await world.pass(5 * MINUTE);
    world.expect("no key was issued", world.issued, 0);
    world.expect("the Secret is as it was", world.secret(), { mine: "yes" });
    world.expect("the ApiKey says so", world.condition(apiKeyType, "ci")?.status, "False");
    const advice = conflictOf(world);
    const command = `kubectl label secret -n ${NAMESPACE} ci iam-operator.io/api-key=ci`;
    world.expect("how to overwrite it", advice.includes(command));
    world.expect("not to delete it", /[Dd]elete it/.test(advice), false);
  }),
  story(
    "a Secret that another client creates while a key is issued stays as it is",
    async (world) => {
      world.fault("issueKey", { kind: "Slow", ms: 2 * SECOND });
      const begun = world.begin();
      await world.until(() => world.calls("issueKey") === 1);
      world.sim.create(secretType, { metadata: inNamespace("ci"), stringData: { mine: "yes" } });
      await begun;
      await world.pass(5 * MINUTE);
      world.expect("the Secret is as it was", world.secret(), { mine: "yes" });
      world.expect("the conflict is reported", conflictOf(world).startsWith("SecretConflict: "));
      world.expect("the key is pending", world.key().status?.pending?.keyId, world.live[0]);
      world.sim.delete(secretType, "ci");
      await world.pass(10 * MINUTE);
      world.expect("the key was not lost", world.secret().keyId, world.live[0]);
      world.expect("nor is it pending", world.key().status?.pending, undefined);
      world.expect("one key was issued", world.issued, 1);
    },
  ),
  unready("a Secret of another type stays as it is", async (world) => {
    await world.begin();
    remakeWithType(world, "example.com/type", ["keyId"]);
    await world.pass(10 * MINUTE);
    world.expect("it has what it had", Object.keys(world.secret()), ["keyId"]);
  }),
  story(
    "a Secret made again with another type waits for its maker, with the new pair kept",
    async (world) => {
      const type = "example.com/type";
      await world.begin({ key: { secret: { type } } });
      world.fault("searchActions", refused(401), 1_000);
      world.rotate("one");
      await world.pass(10 * SECOND);
      remakeWithType(world, "Opaque");
      const before = world.sim.get(secretType, "ci");
      world.cease();
      await world.pass(10 * MINUTE);
      world.expect("it is as it was", world.sim.get(secretType, "ci"), before);
      const words = "its type is Opaque, not example.com/type";
      world.expect("the conflict is reported", conflictOf(world).includes(words));
      world.sim.delete(secretType, "ci");
      await world.pass(MINUTE);
      world.expect("it has its type", world.sim.get(secretType, "ci")?.type, type);
      world.expect("it holds the new pair", world.secret().keyId, world.live[1]);
      world.expect("two keys were issued", world.issued, 2);
    },
  ),
  unready("a Secret of an earlier ApiKey of the same name is not taken over", async (world) => {
    await world.begin({ key: { secret: { deletionPolicy: "Retain" } } });
    const before = world.secret().keyId;
    world.sim.delete(apiKeyType, "ci");
    await world.pass(MINUTE);
    createKey(world.sim, "ci");
    await world.pass(5 * MINUTE);
    world.expect("the Secret is as it was", world.secret().keyId, before);
  }),
];

const edits: readonly Story[] = [
  unready("a key that cannot be written is written within minutes", async (world) => {
    world.fault("create secrets", refused(422), 3);
    await world.begin();
    await world.pass(20 * MINUTE);
    world.expect("the Secret is there", world.secret().keyId, world.live.at(-1));
  }),
  story(
    "a rotation into a Secret that is immutable waits until the Secret is gone",
    async (world) => {
      await world.begin();
      world.happens({ kind: "EditSecret", how: "MakeImmutable" });
      world.rotate("one");
      await world.pass(10 * MINUTE);
      const { status, reason } = world.condition(apiKeyType, "ci") ?? {};
      world.expect("the key in use is fine", [status, reason], ["True", "SecretImmutable"]);
      world.expect("no key is issued without a place", world.issued, 1);
      world.happens({ kind: "DeleteSecret" });
      await world.pass(MINUTE);
      world.expect("it holds the new pair", world.secret().keyId, world.live[1]);
      world.expect("two keys were issued", world.issued, 2);
    },
  ),
  story("an old Secret that is put back is replaced by the new one", async (world) => {
    await world.begin({ key: { rotation: { overlap: "1h" } } });
    const old = world.sim.get(secretType, "ci") ?? {};
    world.rotate("one");
    await world.pass(2 * MINUTE);
    const current = world.secret().keyId;
    putBack(world, old);
    await world.pass(15 * MINUTE);
    world.expect(
      "status names the new key or a newer one",
      world.key().status?.current?.keyId !== current ? world.issued : 2,
      world.issued,
    );
    world.expect("revision did not fall", (world.key().status?.current?.revision ?? 0) >= 2);
    world.expect(
      "the Secret holds the current key",
      world.secret().keyId,
      world.key().status?.current?.keyId,
    );
  }),
  story(
    "an old Secret that is put back is replaced even if its key has left the status",
    async (world) => {
      await world.begin();
      const old = world.sim.get(secretType, "ci") ?? {};
      world.rotate("one");
      await world.pass(MINUTE);
      world.sim.meddle(() =>
        world.sim.patch(apiKeyType, "ci", { status: { superseded: null } }, "status"),
      );
      await world.pass(MINUTE);
      putBack(world, old);
      await world.pass(MINUTE);
      world.expect("the Secret holds another key", world.secret().keyId !== world.live[0]);
    },
    { excuses: ["S5 accounting", "S5 keys accounted in time"] },
  ),
  story("edited annotations of the Secret are not believed", async (world) => {
    const data = { keyId: "${keyId}", secret: "${secret}", till: "${expirationTime}" };
    await world.begin({ key: { secret: { data } } });
    const before = [metadataOf(world).annotations, world.secret(), world.key().status?.current];
    world.sim.meddle(() =>
      world.annotate(secretType, "ci", {
        "iam-operator.io/expiration-time": "2026-01-02T00:00:00Z",
        "iam-operator.io/issue-time": "2025-06-01T00:00:00Z",
        "iam-operator.io/revision": "77",
      }),
    );
    await world.pass(15 * MINUTE);
    const after = [metadataOf(world).annotations, world.secret(), world.key().status?.current];
    world.expect("all is as it was", after, before);
    world.expect("no key was issued", world.issued, 1);
  }),
  story(
    "an edited key ID of the Secret's annotations is repaired, and costs no key",
    async (world) => {
      await world.begin();
      const before = [metadataOf(world).annotations, world.secret(), world.key().status?.current];
      for (const keyId of ["sak_other", null]) {
        world.sim.meddle(() => world.annotate(secretType, "ci", { [annotations.keyId]: keyId }));
        await world.pass(15 * MINUTE);
        const after = [metadataOf(world).annotations, world.secret(), world.key().status?.current];
        world.expect(`all is as it was after ${keyId}`, after, before);
      }
      world.expect("no key was issued", world.issued, 1);
    },
  ),
  story("a torn pair is replaced", async (world) => {
    await world.begin();
    world.happens({ kind: "EditSecret", how: "TearPair" });
    await world.pass(15 * MINUTE);
    const { keyId = "", secret = "" } = world.secret();
    world.expect("the Secret holds a pair", world.sim.console.world.isPair(keyId, secret));
  }),
];

const templates: readonly Story[] = [
  story("what is no longer declared is removed, and nothing else", async (world) => {
    const secret = {
      data: { keyId: "${keyId}", secret: "${secret}", extra: "${saId}" },
      labels: { team: "a", tier: "db" },
      annotations: { "example.com/note": "x", "example.com/mail": "y" },
    };
    await world.begin({ key: { secret } });
    const theirs = { labels: { backup: "yes" }, annotations: { "example.com/seen": "today" } };
    world.sim.patch(secretType, "ci", { metadata: theirs });
    const { labels, annotations: notes } = metadataOf(world);
    await render(world, {
      data: { extra: null },
      labels: { tier: null },
      annotations: { "example.com/note": null },
    });
    const { tier: _, ...leftLabels } = labels;
    const { "example.com/note": __, ...leftNotes } = notes;
    const names = '{"labels":["team"],"annotations":["example.com/mail"]}';
    world.expect("entries", Object.keys(world.secret()).sort(), ["keyId", "secret"]);
    world.expect("labels and annotations", metadataOf(world), {
      labels: leftLabels,
      annotations: { ...leftNotes, [LIST]: names },
    });
    await render(world, { labels: null, annotations: null });
    const { team: ___, ...bareLabels } = leftLabels;
    const { [LIST]: ____, "example.com/mail": _____, ...bareNotes } = leftNotes;
    world.expect("none of the template", metadataOf(world), {
      labels: bareLabels,
      annotations: bareNotes,
    });
    world.expect("one key was issued", world.issued, 1);
  }),
  story("a label that others set after it was no longer declared stays", async (world) => {
    await world.begin({ key: { secret: { labels: { team: "a" } } } });
    await render(world, { labels: { team: null } });
    world.sim.patch(secretType, "ci", { metadata: { labels: { team: "theirs" } } });
    await render(world, { labels: { tier: "db" } });
    await render(world, { labels: { tier: null } });
    const { labels } = metadataOf(world);
    world.expect("labels", [labels.team, labels.tier], ["theirs", undefined]);
  }),
  story("a Secret that does not list its labels keeps them, and lists them then", async (world) => {
    await world.begin({ key: { secret: { labels: { team: "a", tier: "db" } } } });
    const { content } = world.key().status ?? {};
    // As an earlier version wrote it.
    world.annotate(secretType, "ci", { [LIST]: null });
    const before = writes(world);
    await world.pass(15 * MINUTE);
    const names = '{"labels":["team","tier"],"annotations":[]}';
    world.expect("it lists them", metadataOf(world).annotations[LIST], names);
    world.expect("with one write", writes(world) - before, 1);
    const { hash, replacementTime } = world.key().status?.content ?? {};
    const same = [content?.hash, content?.replacementTime];
    world.expect("which is no other content", [hash, replacementTime], same);
  }),
  story("labels that a Secret never listed stay when they are dropped", async (world) => {
    await world.begin({ key: { secret: { labels: { team: "a", tier: "db" } } } });
    world.annotate(secretType, "ci", { [LIST]: null });
    await render(world, { labels: { team: null } });
    await render(world, { labels: { tier: null } });
    const { labels } = metadataOf(world);
    world.expect("labels", [labels.team, labels.tier], ["a", undefined]);
  }),
  story("a Secret without labels of the template is not written again", async (world) => {
    await world.begin();
    const before = writes(world);
    await world.pass(15 * MINUTE);
    world.expect("no write", writes(world) - before, 0);
  }),
];

const unreadable: readonly Story[] = [403, 500].map((status) =>
  story(
    `Secrets that cannot be read are reported, and nothing else changes (${status})`,
    async (world) => {
      await world.begin();
      const before = world.key().status;
      world.fault("get secrets", refused(status), 10_000);
      world.annotate(apiKeyType, "ci", { "example.com/touch": "now" });
      await world.pass(6 * MINUTE);
      const { status: is, reason, message = "" } = world.condition(apiKeyType, "ci") ?? {};
      const expected = status === 403 ? "Forbidden" : "Unavailable";
      world.expect("it is reported", [is, reason], ["True", expected]);
      world.expect("in words", message.includes("The Kubernetes API answered"));
      const { conditions: _, ...after } = world.key().status ?? {};
      const { conditions: __, ...known } = before ?? {};
      world.expect("the rest stays", after, known);
      world.expect("no key is issued", world.issued, 1);
      world.cease();
      await world.pass(6 * MINUTE);
      world.expect("all is well", world.condition(apiKeyType, "ci")?.reason, "KeyDelivered");
    },
    { flags: ["--leader-elect=false", "--watch-secrets=false"] },
  ),
);

export const secretStories: readonly Story[] = [
  ...unreadable,
  ...foreignSecrets,
  ...edits,
  ...templates,
];
