import type { Mutant } from "./mutant.ts";

const key = (file: string) => `src/controllers/api-key/${file}`;
const world = ["test/controllers/api-key/world.test.ts"];
const plan = ["test/controllers/api-key/plan.test.ts"];
const policies = ["test/controllers/api-key/policies.test.ts"];
const schedule = ["test/controllers/api-key/schedule.test.ts"];
const secret = ["test/controllers/api-key/secret.test.ts"];
const retirement = ["test/controllers/api-key/retirement.test.ts"];
const report = ["test/controllers/api-key/report.test.ts"];

export const apiKeyMutants: readonly Mutant[] = [
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
    find: "    if (line.holder !== undefined && line.holder !== key) {",
    replace: `    if (line.holder === "") {`,
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
    file: key("delivered.ts"),
    find: "    (key) => now < overlapEnd(key, spec.rotation, converged),",
    replace: "    (key) => now > 0 && overlapEnd(key, spec.rotation, converged) > 0,",
    tests: world,
  },
  {
    name: "superseded keys are ended before the overlap is over",
    file: key("plan.ts"),
    find: `      now >= overlapEnd(key, spec.rotation, converged) &&`,
    replace: `      overlapEnd(key, spec.rotation, converged) > 0 &&`,
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
    file: key("delivered.ts"),
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
    find: `Math.max(parseDuration(overlap) ?? DAY, MIN_OVERLAP)`,
    replace: `Math.max(parseDuration(overlap) ?? DAY, MIN_OVERLAP * 0)`,
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

  {
    name: "the intent is written only with what comes after the call",
    file: key("issue.ts"),
    find: `  const recorded = await record({ ...seen, state }, { kind: "Rest", waiting }, around).catch(`,
    replace: `  const recorded = await Promise.resolve({ ...seen, state, waiting, record }).catch(`,
    tests: world,
  },
  {
    name: "a restart begins a new budget",
    file: key("observed.ts"),
    find: "    issues: issues && { since: instant(issues.since), count: issues.count },",
    replace: "    issues: issues && undefined,",
    tests: [...report, ...world],
  },
  {
    name: "the Secret is switched in two writes",
    file: key("write-secret.ts"),
    find: "    : kube.mergePatch(secretType, keyOf(wanted), targetPatch(target, wanted, self));",
    replace: `    : kube
        .mergePatch(secretType, keyOf(wanted), { data: { keyId: wanted.data?.keyId ?? "" } })
        .then((half) => {
          const { uid = "", resourceVersion = "" } = half.metadata;
          const patch = targetPatch({ ...target, uid, resourceVersion }, wanted, self);
          return kube.mergePatch(secretType, keyOf(wanted), patch);
        });`,
    tests: world,
  },
  {
    name: "a Secret is deleted whoever it belongs to by now",
    file: key("write-secret.ts"),
    find: "    await around.context.kube.delete(secretType, keyOf(secret), { uid, resourceVersion });",
    replace:
      "    await around.context.kube.delete(secretType, keyOf(secret), uid + resourceVersion ? {} : {});",
    tests: retirement,
  },
  {
    name: "the finalizer never goes",
    file: key("reconcile.ts"),
    find: "  await removeFinalizer(around.context, apiKeyType, seen.object);",
    replace: `  if (self.name === "") await removeFinalizer(around.context, apiKeyType, seen.object);`,
    tests: world,
  },
  {
    name: "a refused key in use does not keep the one before it alive",
    file: key("plan.ts"),
    find: "const maintenance: readonly StepPolicy[] = [renderSecret, verifyCurrent, retire];",
    replace: "const maintenance: readonly StepPolicy[] = [renderSecret, retire, verifyCurrent];",
    tests: retirement,
  },
  {
    name: "the overlap does not wait for Pods on an older content",
    file: key("schedule.ts"),
    find: "  const extension = isConverged ? 0 :",
    replace: "  const extension = isConverged !== undefined ? 0 :",
    tests: schedule,
  },
  {
    name: "Pods that were not counted count as none",
    file: key("consumers.ts"),
    find: "  return countOf(seen, seen.object.status?.content)?.stale === 0;",
    replace: "  return (countOf(seen, seen.object.status?.content)?.stale ?? 0) === 0;",
    tests: ["test/controllers/api-key/consumers.test.ts", ...schedule],
  },
  {
    name: "an old key is ended though the Secret does not hold the new one",
    file: key("plan.ts"),
    find: `  if (pairIn(target)?.keyId !== current.keyId) return undefined;
  const converged`,
    replace: `  if (target.kind === "Absent") return undefined;
  const converged`,
    tests: retirement,
  },
  {
    name: "an old key that is gone is ended for ever",
    file: key("console.ts"),
    find: `    if (isIamError(error, "NotFound")) return "Deleted" as const;`,
    replace: `    if (isIamError(error, "MfaRequired")) return "Deleted" as const;`,
    tests: retirement,
  },
  {
    name: "a key that cannot be disabled is never deleted",
    file: key("console.ts"),
    find: "      if (!isRefused || deleteKey === undefined) throw error;",
    replace: "      if (isRefused || deleteKey === undefined) throw error;",
    tests: retirement,
  },
  {
    name: "a console that refuses to end an old key stops all care for the new one",
    file: key("reconcile.ts"),
    find: "retiring ? around.timing.secretCheckMs : undefined",
    replace: "retiring ? undefined : undefined",
    tests: retirement,
  },
  {
    name: "keys that expired are listed as live",
    file: key("report.ts"),
    find: `now >= key.expiresAt && key.state !== "Deleted" ? { ...key, state: "Expired" } : key,`,
    replace: `now < key.issuedAt && key.state !== "Deleted" ? { ...key, state: "Expired" } : key,`,
    tests: report,
  },
  {
    name: "a request that is too long for the status is noted as it is",
    file: "src/controllers/request-token.ts",
    find: "  return annotations?.[name]?.slice(0, MAX_TOKEN).toWellFormed();",
    replace: "  return annotations?.[name]?.slice(0, MAX_TOKEN * 100);",
    tests: ["test/controllers/api-key/stored.fuzz.test.ts"],
  },
  {
    name: "a time that cannot be written is believed",
    file: "src/util/time.ts",
    find: "  return instant >= FIRST_INSTANT && instant <= LAST_INSTANT ? instant : undefined;",
    replace: "  return Number.isNaN(instant) ? undefined : instant;",
    tests: ["test/util"],
  },
  {
    name: "a status is written to an object that was created again",
    file: "src/controllers/status-writer.ts",
    find: "      uid,\n",
    replace: "",
    tests: ["test/controllers", "test/integration"],
  },
];
