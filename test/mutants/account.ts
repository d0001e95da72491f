import type { Mutant } from "./mutant.ts";

const bindings = ["test/controllers/policy-binding"];
const recall = ["test/controllers/service-account/recall.test.ts"];
const lookUp = ["test/controllers/look-up-account.test.ts"];
const unreported = ["test/controllers/unreported.test.ts"];
const deletion = ["test/controllers/service-account/deletion.test.ts"];

export const accountMutants: readonly Mutant[] = [
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
    name: "policies that others have bound are removed",
    file: "src/controllers/policy-binding/decide.ts",
    find: "      : union(common(known, [...wanted, ...foreign]), wanted);",
    replace: "      : wanted;",
    tests: bindings,
  },
  {
    name: "an answer about bindings that cannot be read counts as none",
    file: "src/controllers/policy-binding/decide.ts",
    find: `  if (!created && foreignPolicies === "Keep" && !suspendAccess) return undefined;`,
    replace: "",
    tests: bindings,
  },
  {
    name: "nothing to bind unbinds everything",
    file: "src/controllers/policy-binding/decide.ts",
    find: "  if (!mayBeEmptied(seen) && target.length === 0 && known.length > 0) {",
    replace: "  if (!mayBeEmptied(seen) && target.length === 0 && known.length < 0) {",
    tests: bindings,
  },
  {
    name: "policies beyond the grant are bound",
    file: "src/controllers/policy-binding/decide.ts",
    find: `  return stage === "Live" && !suspended && problem === undefined;`,
    replace: `  return stage === "Live" && !suspended && problem?.reason !== "";`,
    tests: bindings,
  },
  {
    name: "a grant holds in every namespace",
    file: "src/controllers/connection/rules/effective-grant.ts",
    find: "  if (names.includes(name)) return true;",
    replace: "  if (names.length > 0) return true;",
    tests: ["test/controllers/connection/effective-grant.test.ts"],
  },
  {
    name: "an unknown namespace has every label",
    file: "src/controllers/connection/rules/effective-grant.ts",
    find: "  if (selector === undefined || labels === undefined) return false;",
    replace:
      "  if (selector === undefined) return false;\n  if (labels === undefined) return true;",
    tests: ["test/controllers/connection/effective-grant.test.ts"],
  },
  {
    name: "a deleted object whose status is lost goes though the console could not be asked",
    file: "src/controllers/service-account/deletion.ts",
    find: 'holdFor(SUSPENDED) : { kind: "Failing", finding: recall.finding };\n',
    replace: 'holdFor(SUSPENDED) : { kind: "Release" };\n',
    tests: deletion,
  },
  {
    name: "an account without a description counts as that of a deleted object",
    file: "src/controllers/service-account/recovery.ts",
    find: '  if (only !== undefined && own.length === 1) return { kind: "Own", account: only };\n  const silent',
    replace:
      '  const [any = only] = candidates;\n  if (any !== undefined && own.length < 2) return { kind: "Own", account: any };\n  const silent',
    tests: recall,
  },
  {
    name: "one 404 makes an account gone",
    file: "src/controllers/look-up-account.ts",
    find: "  if (!listing.some((account) => account.saId === saId)) return undefined;",
    replace: "  if (listing.length >= 0) return undefined;",
    tests: lookUp,
  },
  {
    name: "the pause that a refused report asked for is forgotten",
    file: "src/controllers/frame/error-policy.ts",
    find: "return later(errorPolicy(error.cause), errorPolicy(error.refusal));",
    replace: "return errorPolicy(error.cause);",
    tests: unreported,
  },
  {
    name: "a status write whose answer was lost is told by another one",
    file: "src/controllers/frame/failure.ts",
    find: "  if (error instanceof StatusUnanswered) return undefined;\n",
    replace: "  if (error instanceof StatusUnanswered) return failureReadiness(error.cause);\n",
    tests: unreported,
  },
  {
    name: "a client with old credentials stays in use",
    file: "src/controllers/connection/registry.ts",
    find: "  const isCurrent = session?.identity.uid === uid && session.identity.spec === clientIdentity(spec);",
    replace:
      "  const isCurrent = session?.identity.uid === uid && clientIdentity(spec) !== undefined;",
    tests: ["test/controllers/connection"],
  },
];
