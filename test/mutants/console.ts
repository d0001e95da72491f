import type { Mutant } from "./mutant.ts";

export const consoleMutants: readonly Mutant[] = [
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
    name: "a call is repeated when nothing came back",
    file: "src/iam/caller.ts",
    find: "    const first = await this.#callWith(grant, call, either);",
    replace: `    const once = () => this.#callWith(grant, call, either);
    const first = await once().catch(once);`,
    tests: ["test/iam/faults.test.ts"],
  },
  {
    name: "a call that is refused is repeated with every new token",
    file: "src/iam/caller.ts",
    find: "    return other === undefined ? first : this.#callWith(other, call, either);",
    replace: "    return other === undefined ? first : this.call(call, signal);",
    tests: ["test/iam/session.test.ts"],
  },
  {
    name: "a login is tried for ever",
    file: "src/iam/login-circuit.ts",
    find: "    if (this.#failures < TOLERATED) return;",
    replace: "    if (this.#failures < TOLERATED * 1_000) return;",
    tests: ["test/iam/session.test.ts"],
  },
  {
    name: "each waiting call logs in by itself",
    file: "src/iam/session.ts",
    find: "    this.#running ??= this.#logIn().finally(() => {",
    replace: "    this.#running = this.#logIn().finally(() => {",
    tests: ["test/iam/session.test.ts"],
  },
  {
    name: "connections share a token",
    file: "src/iam/console-client.ts",
    find: `  return new LoginSession({
    login,
    clock,
    random,
    onLogin: (result) => observer?.onLogin(result),
  });`,
    replace: `  const everyone = globalThis as { session?: Session };
  everyone.session ??= new LoginSession({
    login,
    clock,
    random,
    onLogin: (result) => observer?.onLogin(result),
  });
  return everyone.session;`,
    tests: ["test/iam/session.test.ts"],
  },
  {
    name: "redirects are followed",
    file: "src/iam/transport.ts",
    find: "  const pooled = createAgent(options, 1);",
    replace: `  const { interceptors } = process
    .getBuiltinModule("node:module")
    .createRequire(import.meta.url)("undici");
  const pooled = createAgent(options, 1).compose(
    interceptors.redirect({ maxRedirections: 3 }),
  ) as unknown as Agent;`,
    tests: ["test/iam/transport.test.ts", "test/iam/faults.test.ts"],
  },
  {
    name: "credentials go to whatever origin a URL names",
    file: "src/iam/transport.ts",
    find: `  if (url.origin !== origin) throw new HttpError("refused", "the URL is of another origin");`,
    replace: `  if (origin === "") throw new HttpError("refused", "the URL is of another origin");`,
    tests: ["test/iam/transport.test.ts"],
  },
  {
    name: "an answer that cannot be understood is quoted",
    file: "src/iam/failures.ts",
    find: "cannot be understood: ${error.message}`",
    replace: "cannot be understood: ${error.message} ${response.body.toString()}`",
    tests: ["test/iam/faults.test.ts"],
  },
  {
    name: "secrets are quoted in other spellings",
    file: "src/iam/failures.ts",
    find: "  const hidden = [...secrets, ...said.secrets].flatMap(spellings);",
    replace: "  const hidden = [...secrets, ...said.secrets];",
    tests: ["test/iam/faults.test.ts"],
  },
  {
    name: "an answer full of secrets is searched for all of them",
    file: "src/iam/server-text.ts",
    find: "  if (secrets.length > MAX_SECRETS) return {",
    replace: "  if (secrets.length > MAX_SECRETS * 1e9) return {",
    tests: ["test/iam/answers.fuzz.test.ts"],
  },
  {
    name: "a call beyond the documented ones",
    file: "src/iam/calls.ts",
    find: `    operation: "listServiceAccounts",
    method: "GET",
    path: ACCOUNTS,`,
    replace: `    operation: "listServiceAccounts",
    method: "GET",
    path: "/api/v1/iam/authn/service-accounts/all",`,
    tests: ["test/iam/endpoints.test.ts"],
  },
  {
    name: "a list that goes on counts as whole",
    file: "src/iam/listing.ts",
    find: `  if (hasNext === true) throw new ShapeError("the list goes on after this page");`,
    replace: `  if (hasNext === null) throw new ShapeError("the list goes on after this page");`,
    tests: ["test/iam/wire.test.ts"],
  },
  {
    name: "a 409 of the issuing call counts as not committed",
    file: "src/iam/errors.ts",
    find: `  "InvalidArgument",
]);`,
    replace: `  "InvalidArgument",
  "AlreadyExists",
]);`,
    tests: ["test/iam"],
  },
  {
    name: "Retry-After is read by our own clock",
    file: "src/iam/retry-after.ts",
    find: "  return date === undefined ? undefined : date - (parseHttpDate(serverDate) ?? now);",
    replace:
      "  return date === undefined ? undefined : date - (parseHttpDate(serverDate) === 0 ? 0 : now);",
    tests: ["test/iam"],
  },
  {
    name: "a wrong Retry-After stops us for ever",
    file: "src/iam/retry-after.ts",
    find: "  return now + Math.min(waitMs, MAX_WAIT_MS);",
    replace: "  return now + Math.max(waitMs, -MAX_WAIT_MS);",
    tests: ["test/iam"],
  },
  {
    name: "a change at the console does not ask the fence when it leaves",
    file: "src/iam/exchange.ts",
    find: "        ? { beforeSending: () => this.#options.beforeMutation(this.#timeoutOf(call)) }",
    replace: "        ? {}",
    tests: ["test/iam"],
  },
  {
    name: "an id that no status can name is read",
    file: "src/iam/console-id.ts",
    find: "value.length <= LONGEST && value.isWellFormed()",
    replace: "value.length <= LONGEST * 100",
    tests: ["test/iam/answers.fuzz.test.ts"],
  },
  {
    name: "answers nest as deep as they like",
    file: "src/iam/json.ts",
    find: "  return depth > MAX_DEPTH;",
    replace: "  return depth > MAX_DEPTH * 1e9;",
    tests: ["test/iam/wire.test.ts"],
  },
  {
    name: "quotas that are listed twice are counted twice",
    file: "src/iam/all-pages.ts",
    find: `    if (found.has(key)) throw new ShapeError("a quota is listed twice");`,
    replace: "",
    tests: ["test/iam/wire.test.ts"],
  },
  {
    name: "the prefix of a display text that can be read is taken for the whole",
    file: "src/api/quota-text.ts",
    find: "  return names.size === parts.length ? amounts : undefined;",
    replace: "  return names.size <= parts.length ? amounts : undefined;",
    tests: ["test/controllers/quota-export/quota-text.test.ts"],
  },
];
