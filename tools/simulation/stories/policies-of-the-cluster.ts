/** Admission policies of the cluster that change what the operator writes. */
import { annotations } from "../../../src/api/meta.ts";
import { apiKeyType } from "../../../src/resources/resource-types.ts";
import { HOUR, MINUTE } from "../../../src/util/time.ts";
import { type Tree, treeAt } from "../../api-server/tree.ts";
import { type Story, type StoryWorld, story, unready } from "./story.ts";

const labelled = { key: { secret: { labels: { team: "a" } } } } as const;

/** Changes each Secret on its way into the store. */
function mutate(world: StoryWorld, change: (secret: Tree) => void): void {
  world.sim.kube.admission.push(({ kind }, object) => {
    if (kind.type.kind === "Secret") change(object);
  });
}

function withLabel(name: string, value: string) {
  return (secret: Tree) => {
    treeAt(treeAt(secret, "metadata"), "labels")[name] = value;
  };
}

function readyOf(world: StoryWorld) {
  const { status, reason, message = "" } = world.condition(apiKeyType, "ci") ?? {};
  return { said: [status, reason], message };
}

export const clusterPolicyStories: readonly Story[] = [
  story("a policy that overrides a declared label is reported, and not fought", async (world) => {
    mutate(world, withLabel("team", "theirs"));
    await world.begin(labelled);
    const { said, message } = readyOf(world);
    world.expect("the key is in use", said, ["True", "SecretNotKept"]);
    world.expect("the message names the label", message.includes("label team"));
    const writes = world.calls("patch secrets");
    await world.pass(2 * HOUR);
    world.expect("it is not written again", world.calls("patch secrets"), writes);
    world.expect("at most once", writes <= 1);
    world.rotate("one");
    await world.pass(5 * MINUTE);
    world.expect("a rotation goes on", world.secret().keyId, world.live[1]);
  }),
  story(
    "a key that is deleted at the console is replaced although a policy changes its Secret",
    async (world) => {
      await world.begin(labelled);
      mutate(world, withLabel("team", "theirs"));
      world.change(apiKeyType, "ci", { secret: { annotations: { note: "new" } } });
      await world.pass(MINUTE);
      world.expect("it is reported", readyOf(world).said, ["True", "SecretNotKept"]);
      const [first = ""] = world.live;
      world.sim.deleteKeyInConsole(first);
      await world.pass(7 * MINUTE);
      world.expect("the Secret holds a new key", world.secret().keyId, world.live[0]);
    },
  ),
  story("a policy that is gone is noticed on request", async (world) => {
    mutate(world, withLabel("team", "theirs"));
    await world.begin(labelled);
    world.sim.kube.admission.pop();
    await world.pass(10 * MINUTE);
    world.expect("it is still reported", readyOf(world).said, ["True", "SecretNotKept"]);
    world.annotate(apiKeyType, "ci", { [annotations.reconcileRequestedAt]: "now" });
    await world.pass(MINUTE);
    world.expect("it is mended", readyOf(world).said, ["True", "KeyDelivered"]);
  }),
  unready("a policy that would change a new key's Secret is noticed to be gone", async (world) => {
    await world.begin();
    mutate(world, withLabel("app.kubernetes.io/managed-by", "them"));
    world.annotate(apiKeyType, "ci", { [annotations.reconcileRequestedAt]: "now" });
    await world.pass(MINUTE);
    const forecast = () => world.condition(apiKeyType, "ci", "IssuanceAllowed");
    world.expect("it is foreseen", forecast()?.reason, "SecretNotKept");
    world.sim.kube.admission.pop();
    await world.pass(HOUR + MINUTE);
    world.expect("its end within an hour", forecast()?.reason, "Allowed");
  }),
  story("a policy that adds an entry is not fought", async (world) => {
    await world.begin();
    mutate(world, (secret) => {
      treeAt(secret, "data").added = "eA==";
    });
    world.change(apiKeyType, "ci", { secret: { labels: { team: "a" } } });
    await world.pass(MINUTE);
    const writes = world.calls("patch secrets");
    await world.pass(HOUR);
    world.expect("few writes", [writes <= 2, world.calls("patch secrets") - writes], [true, 0]);
    world.expect("it is reported", readyOf(world).said, ["True", "SecretNotKept"]);
    const forecast = () => world.condition(apiKeyType, "ci", "IssuanceAllowed")?.reason;
    world.expect("the forecast says so at once", forecast(), "SecretNotKept");
    world.sim.kube.admission.pop();
    world.happens({ kind: "EditSecret", how: "RemoveEntry" });
    await world.pass(MINUTE);
    world.expect("a write that is kept ends it", readyOf(world).said, ["True", "KeyDelivered"]);
    world.expect("and the forecast follows", forecast(), "Allowed");
  }),
  ...[
    ["a label of the operator", withLabel("app.kubernetes.io/managed-by", "them")] as const,
    [
      "an entry",
      (secret: Tree) => {
        treeAt(secret, "data").secret = "eA==";
      },
    ] as const,
    [
      "the type",
      (secret: Tree) => {
        secret.type = "example.com/other";
      },
    ] as const,
    [
      "the owner",
      (secret: Tree) => {
        treeAt(secret, "metadata").ownerReferences = [];
      },
    ] as const,
  ].map(([what, change]) =>
    unready(`a policy that takes ${what} stops an issue before its call`, async (world) => {
      mutate(world, change);
      await world.begin();
      await world.pass(10 * MINUTE);
      world.expect("no key is issued", world.issued, 0);
      const { said, message } = readyOf(world);
      world.expect("it says why", said, ["False", "SecretNotKept"]);
      world.expect("and what to do", message.includes("Exempt the operator's Secrets"));
      const forecast = world.condition(apiKeyType, "ci", "IssuanceAllowed");
      world.expect("so does the forecast", forecast?.reason, "SecretNotKept");
      world.sim.kube.admission.pop();
      await world.pass(10 * MINUTE);
      world.expect("then it is issued", world.secret().keyId, world.live[0]);
    }),
  ),
];
