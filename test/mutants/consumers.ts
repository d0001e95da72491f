import type { Mutant } from "./mutant.ts";

const consumers = (file: string) => `src/controllers/consumers/${file}`;
const key = (file: string) => `src/controllers/api-key/${file}`;
const decide = ["test/controllers/consumers/decide.test.ts"];
const uses = ["test/controllers/consumers/secret-uses.test.ts"];
const pods = ["test/controllers/consumers/namespace-pods.test.ts"];
const ofKey = ["test/controllers/api-key/consumers.test.ts"];

export const consumerMutants: readonly Mutant[] = [
  {
    name: "a Pod that was made in the second of the switch counts as current",
    file: consumers("decide.ts"),
    find: "  return createdAt <= replacementTime;",
    replace: "  return createdAt < replacementTime;",
    tests: decide,
  },
  {
    name: "the first content of a Secret makes everybody stale",
    file: key("content.ts"),
    find: "known === undefined && hasAdopted !== true",
    replace: "known === undefined && hasAdopted === false",
    tests: ofKey,
  },
  {
    name: "a Pod that was restarted for the content counts as stale",
    file: consumers("decide.ts"),
    find: "contents[contentAnnotation(apiKey)] === hash) return false;",
    replace: "contents[contentAnnotation(apiKey)] === apiKey) return false;",
    tests: decide,
  },
  {
    name: "files are current at once",
    file: consumers("decide.ts"),
    find: "run.at <= pickedUpAt : now <= pickedUpAt;",
    replace: "run.at <= pickedUpAt : now <= replacementTime;",
    tests: decide,
  },
  {
    name: "a workload is restarted for one content again and again",
    file: consumers("decide.ts"),
    find: "  if (annotations[contentAnnotation(content.apiKey)] === content.hash)\n    return {",
    replace:
      "  if (annotations[contentAnnotation(content.apiKey)] === content.apiKey)\n    return {",
    tests: decide,
  },
  {
    name: "a workload is restarted though none of its Pods needs it",
    file: consumers("decide.ts"),
    find: '  if (!needed) return { kind: "Nothing" };\n',
    replace: "",
    tests: decide,
  },
  {
    name: "a workload is restarted for the Pods of another one",
    file: consumers("decide.ts"),
    find: "matchesLabels(selector, pod.labels) && needsRestart",
    replace: "needsRestart",
    tests: decide,
  },
  {
    name: "the interval between restarts is none",
    file: consumers("decide.ts"),
    find: "  return waitMs > 0 ?",
    replace: "  return waitMs > minIntervalMs ?",
    tests: decide,
  },
  {
    name: "what an init container read is forgotten",
    file: consumers("pod-digest.ts"),
    find: "  return outlives\n",
    replace: "  return outlives && status === undefined\n",
    tests: decide,
  },
  {
    name: "a file by subPath counts as one that changes",
    file: consumers("secret-uses.ts"),
    find: '(mount.subPath ?? "") !== "" ||',
    replace: "false ||",
    tests: uses,
  },
  {
    name: "a listing that began before is shared",
    file: consumers("namespace-pods.ts"),
    find: "    const shared = this.#next.get(namespace);",
    replace: "    const shared = this.#next.get(namespace) ?? this.#running.get(namespace);",
    tests: pods,
  },
  {
    name: "the content's hash is made from the secret",
    file: key("content.ts"),
    find: '{ ...pair, secret: new Redacted("") }',
    replace: "{ ...pair }",
    tests: ofKey,
  },
  {
    name: "the content is dated anew in every pass",
    file: key("content.ts"),
    find: "  if (known?.hash === hash) return known;\n",
    replace: "",
    tests: ofKey,
  },
  {
    name: "a content counts before it is in the Secret",
    file: key("content.ts"),
    find: "rendering?.isInPlace !== true",
    replace: "rendering === undefined",
    tests: ofKey,
  },
  {
    name: "the overlap believes the count of an older content",
    file: key("consumers.ts"),
    find: 'known?.kind === "Counted" && known.hash !== content?.hash ? undefined : known',
    replace: "known",
    tests: ofKey,
  },
  {
    name: "the overlap does not wait where nobody counts",
    file: key("consumers.ts"),
    find: "content)?.stale === 0;",
    replace: "content)?.stale !== 1;",
    tests: ofKey,
  },
];
