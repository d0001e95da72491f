/** What must hold after every call, whatever happens to the process. */
import { annotations } from "../../../../src/api/meta.ts";
import { viewSecret } from "../../../../src/controllers/api-key/secret/view.ts";
import type { Secret } from "../../../../src/controllers/resource-types.ts";
import { keyOf } from "../../../../src/kube/resource.ts";
import { keySpec } from "./builders.ts";
import type { KeyConsole } from "./console.ts";

// biome-ignore lint/suspicious/noExplicitAny: objects as they travel
type Raw = any;

/** S6: the intent is in the status before the call; one call an attempt. */
export function breachesOfIntent(
  description: string,
  { keys }: KeyConsole,
  statusOf: (name: string) => Raw,
): readonly string[] {
  const [, name = "", id] = /k8s team-a\/([^#]+)#([-\w]+)/.exec(description) ?? [];
  return [
    ...(statusOf(name)?.attempt?.id === id ? [] : ["S6: issued without intent"]),
    ...(keys.some((key) => key.description === description)
      ? ["S6: issued twice for one attempt"]
      : []),
  ];
}

/** S5, S7, S16: the status names a key only when the Secret holds it; revisions never fall; no attempt is lost. */
export function breachesOfStatus(
  old: Raw,
  status: Raw,
  secret: Secret | undefined,
): readonly string[] {
  const { current, attempt } = status;
  const breaches: string[] = [];
  if (current !== undefined && current.keyId !== old?.current?.keyId) {
    if (secret?.metadata.annotations?.[annotations.keyId] !== current.keyId)
      breaches.push(`S7: ${current.keyId} is not in the Secret`);
    if (current.revision < (old?.current?.revision ?? 0)) breaches.push("S16: revision fell");
  }
  const isReplaced = old?.attempt !== undefined && attempt !== undefined;
  if (isReplaced && old.attempt.id !== attempt.id) breaches.push("S5: an attempt was written over");
  return breaches;
}

const spec = keySpec();

/** S1, S3, S9: a Secret of ours holds a pair that was accepted before consumers got it. */
export function breachesOfSecret(
  secret: Secret,
  { keys, verified }: KeyConsole,
): readonly string[] {
  const { namespace, name } = keyOf(secret);
  const key = keys.find(({ keyId }) => keyId === entryOf(secret, "keyId"));
  if (key === undefined || key.secret !== entryOf(secret, "secret"))
    return [`S1: Secret ${name} holds no pair`];
  if (!verified.has(key.keyId)) return [`S3: ${key.keyId} was never verified`];
  const [owner] = secret.metadata.ownerReferences ?? [];
  const typed = { ...spec, secret: { ...spec.secret, type: secret.type ?? "Opaque" } };
  const view = viewSecret(secret, { namespace, name, uid: owner?.uid ?? "" }, typed, "target");
  return view.kind === "Ours" && view.pair?.keyId !== key.keyId
    ? [`S1: Secret ${name} cannot be read back`]
    : [];
}

export function entryOf(secret: Secret | undefined, entry: string): string | undefined {
  const text = secret?.data?.[entry];
  return text === undefined ? undefined : Buffer.from(text, "base64").toString();
}
