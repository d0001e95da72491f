/** Writes to the Secrets of an ApiKey. Each is one write, bound to the Secret that was looked at. */
import { keyOf } from "../../kube/resource.ts";
import { type Secret, secretType } from "../resource-types.ts";
import { momentOf, readyAccount, record, type Surroundings, tell } from "./effects.ts";
import type { Observed, State } from "./observed.ts";
import type { IssuedPair } from "./pair.ts";
import type { Action } from "./plan.ts";
import { type SecretView, targetSecret, viewSecret } from "./secret.ts";
import { targetPatch } from "./target-patch.ts";

export function observeSecret(
  secret: Secret | undefined,
  { self }: Observed,
  role: "target" | "staging",
): SecretView {
  return viewSecret(secret, self, role);
}

/** Gives consumers the new pair. */
export async function switchSecret(
  seen: Observed,
  action: Extract<Action, { kind: "SwitchSecret" }>,
  around: Surroundings,
): Promise<Observed> {
  const written = await writeTarget(seen, action, around);
  const { name } = written.metadata;
  tell(seen, around, "SecretWritten", "Switch", `Secret ${name} holds key ${action.pair.keyId}.`);
  around.context.log.info(
    {
      namespace: seen.self.namespace,
      name: seen.self.name,
      keyId: action.pair.keyId,
      revision: action.pair.revision,
    },
    "wrote key to secret",
  );
  const hasAdopted = seen.target.kind === "Foreign";
  return { ...seen, target: observeSecret(written, seen, "target"), hasAdopted };
}

/** Makes the Secret show what is declared, with the pair it has. */
export async function renderSecret(
  seen: Observed,
  action: Extract<Action, { kind: "RenderSecret" }>,
  around: Surroundings,
): Promise<Observed> {
  const written = await writeTarget(seen, action, around);
  const { name } = written.metadata;
  tell(seen, around, "SecretUpdated", "Render", `Secret ${name} was brought to what is declared.`);
  return { ...seen, target: observeSecret(written, seen, "target") };
}

function writeTarget(
  seen: Observed,
  { pair, previous }: Pick<Extract<Action, { kind: "SwitchSecret" }>, "pair" | "previous">,
  around: Surroundings,
): Promise<Secret> {
  const { self, spec, target } = seen;
  const { kube } = around.context;
  const { account } = readyAccount(seen, around);
  const wanted = targetSecret(self, spec, account.values, pair, previous);
  return target.kind === "Absent"
    ? kube.create(secretType, wanted)
    : kube.mergePatch(secretType, keyOf(wanted), targetPatch(target, wanted, self));
}

/** Names the delivered key in the status, and the one before it among the superseded. */
export async function commitKey(
  seen: Observed,
  pair: IssuedPair,
  around: Surroundings,
): Promise<Observed> {
  const { now } = momentOf(around);
  const state: State = {
    ...seen.state,
    current: currentOf(pair, now),
    attempt: undefined,
    rotationPending: false,
    superseded: withSuperseded(seen.state, pair, now),
  };
  const previous = seen.state.current;
  const recorded = await record({ ...seen, state }, { kind: "Rest" }, around);
  if (previous !== undefined)
    tell(
      seen,
      around,
      "KeyRotated",
      "Rotate",
      `Key ${pair.keyId} replaces key ${previous.keyId}, which stays valid until it is retired or expires.`,
    );
  return { ...recorded, state };
}

/** Takes the status back from the Secret; the key is tried before it counts as verified. */
export function rebuildStatus(seen: Observed, pair: IssuedPair, around: Surroundings): Observed {
  const { now } = momentOf(around);
  const { state, self } = seen;
  const lost = state.current === undefined;
  tell(seen, around, "StatusRebuilt", "Recover", `Read key ${pair.keyId} back from its Secret.`);
  return {
    ...seen,
    state: {
      ...state,
      current: { ...currentOf(pair, now), verificationTime: undefined },
      superseded: withSuperseded(state, pair, now),
      orphaned: state.orphaned.filter(({ keyId }) => keyId !== pair.keyId),
      // With the status, the record of handled requests is lost: an old request must not issue again.
      handledRotateToken: lost ? self.rotateToken : state.handledRotateToken,
    },
  };
}

/** Accounts for a pair that no status knows. */
export function listStray(seen: Observed, pair: IssuedPair, around: Surroundings): Observed {
  const { now } = momentOf(around);
  const { keyId, issueTime, expirationTime } = pair;
  const stray = { keyId, issueTime, expirationTime, supersededTime: now, state: "Live" as const };
  if (seen.held?.pair.keyId === keyId) around.memory.update(seen.self.uid, { held: undefined });
  return {
    ...seen,
    held: seen.held?.pair.keyId === keyId ? undefined : seen.held,
    state: { ...seen.state, superseded: [...seen.state.superseded, stray] },
  };
}

export async function deleteSecret(
  seen: Observed,
  role: "target" | "staging",
  around: Surroundings,
): Promise<Observed> {
  const view = seen[role];
  if (view.kind === "Ours") {
    const { uid, resourceVersion, secret } = view;
    await around.context.kube.delete(secretType, keyOf(secret), { uid, resourceVersion });
  }
  return { ...seen, [role]: { kind: "Absent" } };
}

function currentOf({ keyId, issueTime, expirationTime, revision }: IssuedPair, now: number) {
  return { keyId, issueTime, expirationTime, revision, verificationTime: now };
}

function withSuperseded(
  { current, superseded }: State,
  pair: IssuedPair,
  now: number,
): State["superseded"] {
  const others = superseded.filter(({ keyId }) => keyId !== pair.keyId);
  if (current === undefined || current.keyId === pair.keyId) return others;
  const { keyId, issueTime, expirationTime } = current;
  return [...others, { keyId, issueTime, expirationTime, supersededTime: now, state: "Live" }];
}
