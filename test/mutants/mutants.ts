/**
 * Seeded bugs, each a small change of the text of one file. `npm run mutants` proves that tests notice them.
 */
export interface Mutant {
  readonly name: string;
  readonly file: string;
  readonly find: string;
  readonly replace: string;
  /** The smallest suites that could notice; of the project `unit` unless `project` says otherwise. */
  readonly tests: readonly string[];
  readonly project?: string;
}

const key = (file: string) => `src/controllers/api-key/${file}`;
const world = ["test/controllers/api-key/world.test.ts"];
const plan = ["test/controllers/api-key/plan.test.ts"];
const policies = ["test/controllers/api-key/policies.test.ts"];
const schedule = ["test/controllers/api-key/schedule.test.ts"];
const secret = ["test/controllers/api-key/secret.test.ts"];
const report = ["test/controllers/api-key/report.test.ts"];
const bindings = ["test/controllers/policy-binding"];

export const mutants: readonly Mutant[] = [
  // Intent and issue
  {
    name: "no intent: issued straight after the check",
    file: key("plan.ts"),
    find: `  return {
    kind: "RecordAttempt",
    because: needs,
    knownKeyIds: seen.precheck.knownKeyIds,
    revision: nextRevision(seen),
  };`,
    replace: `  return nextRevision(seen) > 0 ? { kind: "IssueKey" } : undefined;`,
    tests: plan,
  },
  {
    name: "intent without the precondition of a resource version",
    file: key("effects.ts"),
    find: "    { resourceVersion: seen.object.metadata.resourceVersion },\n",
    replace: "    {},\n",
    tests: world,
  },
  {
    name: "an open attempt of another pass is carried out",
    file: key("plan.ts"),
    find: "  if (attempt === undefined || seen.armed === attempt.id) return undefined;",
    replace: "  if (attempt === undefined || seen.recovery === undefined) return undefined;",
    tests: plan,
  },
  {
    name: "no dry run before the issue",
    file: key("issue.ts"),
    find: "    rehearseSecrets(seen, around),\n",
    replace: "    Promise.resolve(rehearseSecrets.length),\n",
    tests: world,
  },
  {
    name: "an unanswered issue counts as refused",
    file: key("issue.ts"),
    find: `  if (outcome === "Unknown") return`,
    replace: `  if (outcome === "NotCommitted" && id === "") return`,
    tests: world,
  },
  {
    name: "every failed issue counts as not committed",
    file: "src/iam/errors.ts",
    find: `  if (!isIamError(error)) return "Unknown";
  return !error.sent || REFUSED.has(error.code)`,
    replace: `  if (!isIamError(error)) return "Unknown";
  return error.code !== "AlreadyExists" || REFUSED.has(error.code)`,
    tests: [...world, "test/iam"],
  },
  {
    name: "the pair is not kept in memory",
    file: key("issue.ts"),
    find: "    memory.update(self.uid, { held });\n",
    replace: "",
    tests: world,
  },
  {
    name: "the budget is not counted",
    file: key("issue.ts"),
    find: "    : { ...issues, count: issues.count + 1 };",
    replace: "    : issues;",
    tests: world,
  },
  {
    name: "the budget begins anew with every failed attempt",
    file: key("issue.ts"),
    find: "count: Math.max(issues.count - 1, 0)",
    replace: "count: 0",
    tests: world,
  },
  {
    name: "the budget holds for ever",
    file: key("policies.ts"),
    find: "  const used = issues === undefined || now >= issues.since + DAY ? 0 : issues.count;",
    replace: "  const used = issues === undefined || now < issues.since ? 0 : issues.count;",
    tests: policies,
  },
  {
    name: "issues of one account are not serialised",
    file: key("policies.ts"),
    find: "  if (unsettledPeer === undefined) return undefined;",
    replace: `  if (unsettledPeer !== "") return undefined;`,
    tests: [...policies, ...world],
  },
  {
    name: "a turn is never refused",
    file: key("account-turn.ts"),
    find: "    if (holder === undefined || holder === key) {",
    replace: `    if (holder !== "") {`,
    tests: report,
  },
  {
    name: "no cap on live keys",
    file: key("policies.ts"),
    find: "  if (ends.length < cap || rotationIsRequested(seen) !== undefined) return undefined;",
    replace: "  if (ends.length < cap + 99) return undefined;",
    tests: policies,
  },
  {
    name: "the cap on live keys forgets the jitter",
    file: key("schedule.ts"),
    find: "  return Math.ceil(lifetime / periodOf(spec.rotation, lifetime, uid)) + 1;",
    replace:
      "  return Math.ceil(lifetime / (lifetime - renewBefore(spec.rotation, lifetime))) + uid.length * 0 + 1;",
    tests: schedule,
  },
  {
    name: "an intent that was not written holds up the others",
    file: key("issue.ts"),
    find: "      around.memory.withdraw(accountKey, id);\n",
    replace: "",
    tests: world,
  },
  {
    name: "recovery reads the keys at once",
    file: key("plan.ts"),
    find: "      ? recovery.since + settleMs(account, timing)\n",
    replace: "      ? recovery.since\n",
    tests: plan,
  },
  {
    name: "recovery trusts the first reading",
    file: key("plan.ts"),
    find: "  const orphans = [...new Set([...(first ?? []), ...(second ?? [])])]",
    replace: "  const orphans = [...new Set(first ?? [])]",
    tests: plan,
  },
  {
    name: "keys of peers count as orphans",
    file: key("plan.ts"),
    find: "...attempt.knownKeyIds, ...peerKeyIds, ...",
    replace: "...attempt.knownKeyIds, ...",
    tests: plan,
  },
  {
    name: "lost keys are not listed",
    file: key("console.ts"),
    find: "    orphaned: [...state.orphaned, ...orphans],",
    replace: "    orphaned: state.orphaned,",
    tests: world,
  },
  {
    name: "the same rotation token acts twice",
    file: key("issue.ts"),
    find: "    handledRotateToken: seen.self.rotateToken ?? seen.state.handledRotateToken,",
    replace: "    handledRotateToken: seen.state.handledRotateToken,",
    tests: world,
  },
  // Secret and status
  {
    name: "the status names the key before the Secret holds it",
    file: key("plan.ts"),
    find: `    return { kind: "SwitchSecret", pair, previous: pairIn(target) };`,
    replace: `    return { kind: "CommitKey", pair };`,
    tests: [...plan, ...world],
  },
  {
    name: "the target is written without its uid and version",
    file: key("target-patch.ts"),
    find: "      uid: stored.uid,\n      resourceVersion: stored.resourceVersion,\n",
    replace: "",
    tests: secret,
  },
  {
    name: "entries that are not declared stay",
    file: key("target-patch.ts"),
    find: "    data: { ...toNull(removed), ...wanted.data },",
    replace: "    data: { ...toNull(removed.slice(removed.length)), ...wanted.data },",
    tests: secret,
  },
  {
    name: "a foreign Secret is taken over when a pair is delivered",
    file: key("plan.ts"),
    find: `  if (foreign !== undefined) return { kind: "Rest", block: foreign };`,
    replace: `  if (foreign?.reason === "") return { kind: "Rest", block: foreign };`,
    tests: [...plan, ...world],
  },
  {
    name: "a foreign Secret does not stand in the way of an issue",
    file: key("policies.ts"),
    find: `  if (target.kind !== "Foreign" || (spec.secret.onExisting === "Adopt" && target.adoptable))`,
    replace: `  if (target.kind !== "Foreign" || target.adoptable || spec.secret.onExisting === "Adopt")`,
    tests: [...policies, ...world],
  },
  {
    name: "a Secret of an earlier object of the same name counts as ours",
    file: key("secret.ts"),
    find: "(reference) => reference.controller === true && reference.uid !== owner.uid,",
    replace: "(reference) => reference.controller === true && reference.name !== owner.name,",
    tests: secret,
  },
  {
    name: "another type of Secret is ours",
    file: key("secret.ts"),
    find: `  if (type !== undefined && type !== "Opaque")`,
    replace: `  if (type === "")`,
    tests: secret,
  },
  {
    name: "a torn pair counts as one",
    file: key("secret.ts"),
    find: `      value !== "" && pairHash({ keyId, secret: new Redacted(value) }) === hash;`,
    replace: `      value !== "" && hash !== pairHash({ keyId, secret: new Redacted("") });`,
    tests: secret,
  },
  {
    name: "the previous pair is dropped at the switch",
    file: key("plan.ts"),
    find: `previous: pairIn(target) };`,
    replace: `previous: undefined };`,
    tests: world,
  },
  {
    name: "the previous pair is shown for ever",
    file: key("plan.ts"),
    find: "  const inOverlap = state.superseded.filter((key) => now < overlapEnd(key, spec.rotation));",
    replace:
      "  const inOverlap = state.superseded.filter((key) => now > 0 && overlapEnd(key, spec.rotation) > 0);",
    tests: world,
  },
  {
    name: "superseded keys are ended before the overlap is over",
    file: key("plan.ts"),
    find: "canRetire(key, account) && now >= overlapEnd(key, spec.rotation) && now < key.expiresAt,",
    replace:
      "canRetire(key, account) && overlapEnd(key, spec.rotation) > 0 && now < key.expiresAt,",
    tests: [...plan, ...world],
  },
  {
    name: "switched without trying the pair",
    file: key("plan.ts"),
    find: "  if (seen.provenKeyId === pair.keyId)\n    return {",
    replace: '  if (seen.provenKeyId !== "")\n    return {',
    tests: [...plan, ...world],
  },
  {
    name: "a refused pair counts as proven",
    file: key("console.ts"),
    find: `      if (isIamError(error, "Unauthenticated")) return false;`,
    replace: `      if (isIamError(error, "Unauthenticated")) return true;`,
    tests: world,
  },
  {
    name: "staging is left behind",
    file: key("plan.ts"),
    find: `    ? { kind: "DeleteStaging", because: \`key \${pair.keyId} is accounted for\` }`,
    replace: "    ? undefined",
    tests: [...plan, ...world],
  },
  {
    name: "a superseded key is forgotten",
    file: key("write-secret.ts"),
    find: `  return [...others, { keyId, issuedAt, expiresAt, supersededAt: now, state: "Live" }];`,
    replace: `  return keyId + issuedAt + expiresAt + now === "" ? [] : others;`,
    tests: world,
  },
  {
    name: "an old Secret put back turns the status back",
    file: key("policies.ts"),
    find: "  if (superseded.some(({ keyId }) => keyId === pair.keyId)) return true;\n  return current !== undefined && current.keyId !== pair.keyId && pair.revision < current.revision;",
    replace: "  return current?.keyId === `${superseded.length}${pair.keyId}`;",
    tests: policies,
  },
  {
    name: "edited times of the Secret are believed",
    file: key("plan.ts"),
    find: "  return { ...pair, issuedAt, expiresAt, revision };",
    replace: "  return { issuedAt, expiresAt, revision, ...pair };",
    tests: world,
  },
  // Time
  {
    name: "no jitter",
    file: key("schedule.ts"),
    find: "longest - stableFraction(uid) * JITTER_SHARE * lifetime",
    replace: "longest - stableFraction(uid) * 0 * lifetime",
    tests: schedule,
  },
  {
    name: "windows beyond the safety limit",
    file: key("schedule.ts"),
    find: "  return Math.min(Math.min(...openings), Math.max(limit, due));",
    replace: "  return Math.max(Math.min(...openings), Math.min(limit, due));",
    tests: schedule,
  },
  {
    name: "a missed window is made up for at any time",
    file: key("schedule.ts"),
    find: "  const next = now <= first ? first : inWindow(now, rotation, limit);",
    replace: "  const next = now <= first ? first : Math.min(now, limit);",
    tests: schedule,
  },
  {
    name: "the expiry is counted from the answer",
    file: key("issue.ts"),
    find: "    const expiresAt = expiryOf(issuedAt, expiresInDays);",
    replace: "    const expiresAt = expiryOf(context.clock.now() + DAY, expiresInDays);",
    tests: world,
  },
  {
    name: "the overlap may be nothing",
    file: key("schedule.ts"),
    find: "Math.max(parseDuration(rotation.overlap) ?? DAY, MIN_OVERLAP)",
    replace: "Math.max(parseDuration(rotation.overlap) ?? DAY, MIN_OVERLAP * 0)",
    tests: schedule,
  },
  // The end
  {
    name: "the finalizer goes before the Secrets",
    file: key("plan-deletion.ts"),
    find: `askConsole(seen, at, timing) ?? deleteSecrets(seen) ?? { kind: "LetGo" }`,
    replace: `askConsole(seen, at, timing) ?? { kind: "LetGo" } ?? deleteSecrets(seen)`,
    tests: plan,
  },
  {
    name: "a deletion waits for the console for ever",
    file: key("plan-deletion.ts"),
    find: "  if (at.now >= patience) return",
    replace: "  if (at.now >= patience * 2) return",
    tests: plan,
  },
  {
    name: "the keys left alive are not named",
    file: key("reconcile.ts"),
    find: "  if (ids.length > 0)\n",
    replace: "  if (ids.length > 9)\n",
    tests: world,
  },
  {
    name: "suspend is ignored",
    file: key("plan.ts"),
    find: `  return spec.suspend ? { kind: "Rest" } : undefined;`,
    replace: `  return spec.description === "" ? { kind: "Rest" } : undefined;`,
    tests: plan,
  },
  // Console, Kubernetes, queue, bindings, start
  {
    name: "the body of an answer is unbounded",
    file: "src/iam/pending-answer.ts",
    find: "    if (this.#size <= this.#maxBytes) this.#chunks.push(chunk);",
    replace: "    if (this.#size >= 0) this.#chunks.push(chunk);",
    tests: ["test/iam"],
  },
  {
    name: "the first page alone",
    file: "src/iam/all-pages.ts",
    find: "    if (answer.hasNext !== true) return whole(quotas, total);",
    replace: "    if (answer.hasNext !== undefined) return quotas;",
    tests: ["test/iam"],
  },
  {
    name: "410 is nothing special",
    file: "src/kube/status.ts",
    find: `  410: "Gone",`,
    replace: `  410: "Unavailable",`,
    tests: ["test/kube"],
  },
  {
    name: "a watch may be silent for ever",
    file: "src/kube/reflector.ts",
    find: "this.#limits.initialIdleMs : this.#limits.idleMs;",
    replace: "this.#limits.initialIdleMs : 1e9 + this.#limits.idleMs;",
    tests: ["test/kube/reflector.test.ts"],
  },
  {
    name: "the back-off is never reset",
    file: "src/runtime/retries.ts",
    find: "    this.#failures.delete(key);",
    replace: '    if (key === "") this.#failures.delete(key);',
    tests: ["test/runtime"],
  },
  {
    name: "one cache is enough for a synced view of bindings",
    file: "src/controllers/policy-binding/observe.ts",
    find: "  if (!serviceAccounts.synced || !policyBindings.synced) return undefined;",
    replace: "  if (!serviceAccounts.synced && !policyBindings.synced) return undefined;",
    tests: bindings,
  },
  {
    name: "one binding instead of the union",
    file: "src/controllers/policy-binding/decide.ts",
    find: "  const wanted = union(...shares.values());",
    replace: "  const wanted = union(...[...shares.values()].slice(0, 1));",
    tests: bindings,
  },
  {
    name: "the environment wins over flags",
    file: "src/config.ts",
    find: `    const text = typeof flag === "string" ? flag : (environment[variable] ?? fallback);`,
    replace: `    const text = environment[variable] ?? (typeof flag === "string" ? flag : fallback);`,
    tests: ["test/operator"],
  },
  {
    name: "a selector by inequality selects equality",
    file: "src/kube/label-selector.ts",
    find: "    ? (labels) => labels?.[key] !== value",
    replace: "    ? (labels) => labels?.[key] === value",
    tests: ["test/operator"],
  },
];
