/** A command line that cannot be carried out: exit 2, and a message that says what to write. */
import { describe, expect, test } from "vitest";
import { kinds } from "../../../src/api/kinds.ts";
import { commands } from "../../../src/kubectl-iam/cli/commands.ts";
import { joinKind } from "../../../src/kubectl-iam/cluster/kinds.ts";
import { runInProcess } from "./support/in-process.ts";

const NO_CLUSTER = ["--kubeconfig", "/nowhere/config"];

const OWN = "create connection own --org-id o --domain-name d --credentials login";

/** One or several bad lines for each command, and what the message has to say. */
const bad: Readonly<Record<string, readonly (readonly [args: string, says: RegExp])[]>> = {
  status: [
    ["status Ci-Bot", /is not a valid object name/],
    ["status pod/x", /none of the operator's kinds: clusterconnection, connection, /],
    ["status iamkey/Upper", /is not a valid object name/],
    ["status a/b/c", /names no object/],
    [
      "status -o xml",
      /--output must be table, wide, json, yaml, name or jsonpath=TEMPLATE; it is "xml"/,
    ],
    ["status one two", /status shows one object or all objects/],
  ],
  tree: [["tree -l a=b", /unknown option '-l'/]],
  expiring: [
    ["expiring --within soon", /--within must be a time such as 14d, 36h or 5m; it is "soon"/],
  ],
  orphans: [["orphans extra", /too many arguments/]],
  quotas: [["quotas --top none", /--top must be a whole number from 1, such as 7/]],
  events: [["events -w -o json", /--watch prints lines: leave out --output/]],
  explain: [["explain Nonsense", /kubectl iam explain lists all reasons/]],
  diff: [
    ["diff", /objects are required: give either -f FILE or -k FOLDER/],
    ["diff -f a.yaml -k b", /objects are required/],
    ["diff -f /nowhere.yaml", /file \/nowhere.yaml does not exist/],
  ],
  rotate: [
    ["rotate iamsa/ci", /is not of kind ApiKey/],
    ["rotate iamkey ci iamsa/ci", /"iamsa\/ci" is not of kind ApiKey/],
    ["rotate a --timeout 5", /--timeout must be a time/],
    ["rotate a --dry-run=never", /--dry-run must be client or server; it is "never"/],
    ["rotate a --wait", /unknown option '--wait' \(Did you mean --no-wait\?\)/],
  ],
  reconcile: [["reconcile Ci", /is not a valid object name/]],
  wait: [["wait a/b/c", /names no object/]],
  create: [
    ["create pod x", /none of the operator's kinds/],
    ["create apikey x", /--account is needed for this kind/],
    ["create policybinding x --account a --export", /policyIds: must name at least one policy/],
    ["create iamsa Upper --export", /is not a valid object name/],
    ["create apikey x --account a --expires-in-days 9999 --export", /expiresInDays: /],
    [
      "create connection x --base-url https://c",
      /--org-id, --domain-name, --credentials are needed for this kind/,
    ],
    ["create iamsa x --policy p", /--policy is not for this kind, which takes --connection, /],
    ["create iamsa x --connection iamkey/y", /is not a connection/],
    [`${OWN} --base-url http://c --export`, /set insecureHTTP: true to accept that/],
    [`${OWN} --base-url https://c --ca-file /nowhere.pem`, /\/nowhere.pem cannot be read/],
  ],
  logs: [["logs --level loud", /--level must be debug, info, warn or error; it is "loud"/]],
  uninstall: [["uninstall", /needs --dry-run, which shows/]],
  suspend: [["suspend iamconn/", /names no object/]],
  resume: [["resume a/b/c", /names no object/]],
  "revoke-access": [
    ["revoke-access", /missing required argument 'serviceaccount'/],
    ["revoke-access iamkey/x", /is not of kind ServiceAccount/],
    ["revoke-access iamkey x", /is not of kind ServiceAccount/],
    ["revoke-access a b", /too many arguments: write kubectl iam revoke-access <serviceaccount>/],
  ],
  "restore-access": [["restore-access", /missing required argument/]],
  "replace-account": [
    ["replace-account", /missing required argument/],
    ["replace-account iamkey/x", /is not of kind ServiceAccount/],
    ["replace-account x --name Upper", /is not a valid object name/],
    ["replace-account x --overlap 5", /--overlap must be a time/],
    ["replace-account x --with-foreign --without-foreign", /exclude each other/],
  ],
  import: [
    ["import sa-1 --name Upper", /is not a valid object name/],
    ["import ---", /unknown option|missing required argument|yield an object name/],
  ],
  "forget-orphan": [["forget-orphan ci-bot-key", /missing required argument 'key-id'/]],
  "adopt-secret": [["adopt-secret iamsa/x", /is not of kind ApiKey/]],
  backup: [["backup -l a=b", /unknown option .-l/]],
  restore: [
    ["restore", /a backup is required: give -f FILE/],
    ["restore -f /nowhere.yaml", /file \/nowhere.yaml does not exist/],
    ["restore -f a.yaml --dry-run=server", /--dry-run=server is not possible/],
  ],
  console: [["console", /a console command is required: kubectl iam console --help lists them/]],
  "console login": [
    ["console login --base-url ftp://x", /is not a valid address/],
    ["console login --base-url http://x", /accept it by --insecure-http/],
    ["console login --base-url https://x", /--org-id or IAM_CONSOLE_ORG_ID is needed/],
    ["console login --base-url https://x --connection default", /exclude each other/],
    [
      "console login --base-url https://x --org-id o --domain-name d --username u",
      /--login-domain or IAM_CONSOLE_LOGIN_DOMAIN/,
    ],
    [
      "console login --base-url https://x --org-id o --domain-name d --username u --login-domain l",
      /give --password-file with a file, or - for standard input/,
    ],
    ["console login --base-url https://x --org-id o --domain-name d", /made as a user/],
    ["console login --password secret", /unknown option '--password'/],
  ],
  "console create-account": [["console create-account", /missing required argument 'name'/]],
  "console accounts": [["console accounts --connection iamkey/x", /is not a connection/]],
  "console account": [["console account", /missing required argument 'sa-id'/]],
  "console issue-key": [
    ["console issue-key sa-1", /give either --secret-file for a new file, or --reveal/],
    ["console issue-key sa-1 --expires-in-days 0", /must be a whole number from 1/],
  ],
  "console validate-key": [
    [
      "console validate-key --base-url https://x --org-id o --domain-name d",
      /give it by --body FILE/,
    ],
  ],
  "console policies": [["console policies --stat active", /did you mean --status\?/i]],
  "console sync": [
    ["console sync tpn:x", /--policy for each policy, or --none/],
    ["console sync tpn:x --policy a --none", /--policy for each policy, or --none/],
  ],
  "console bindings": [["console bindings", /missing required argument 'tpn'/]],
  "console evaluate": [["console evaluate --body /nowhere.json", /\/nowhere.json cannot be read/]],
  "console instances": [
    [
      "console instances --base-url https://x --org-id o --domain-name d",
      /give --from-secret or --key-id/,
    ],
  ],
  "console quotas": [["console quotas", /give --cluster-id/]],
  "console actions": [["console actions", /missing required argument 'text'/]],
  doctor: [["doctor --action svc:A.B.C", /name the ApiKey that it was made with/]],
  "support-bundle": [["support-bundle a b", /too many arguments/]],
  completion: [["completion tcsh", /choose bash, zsh, fish, kubectl/]],
  version: [["version --verbose", /unknown option '--verbose'/]],
};

const nameOf = (usage: string) =>
  usage
    .split(" ")
    .filter((word) => /^[a-z]/.test(word))
    .join(" ");

test("every command has a bad line here", () => {
  const names = commands.map(({ usage }) => nameOf(usage));
  expect(names.filter((name) => bad[name] === undefined)).toEqual([]);
});

describe.each(Object.entries(bad))("%s", (_, lines) => {
  test.each(lines)("%s", async (line, says) => {
    const ended = await runInProcess(line.split(" "));
    expect(ended.notes).toMatch(says);
    expect(ended).toMatchObject({ code: 2, output: "" });
  });
});

test.each(["foo", "console foo"])("an unknown command, %s, points to the help", async (line) => {
  const ended = await runInProcess(line.split(" "));
  expect(ended).toMatchObject({ code: 2 });
  expect(ended.notes).toMatch(/unknown command 'foo'|"foo" is an unknown console command/);
});

test.each([
  ["help", "--help"],
  ["help rotate", "rotate --help"],
  ["help console", "console --help"],
  ["-n team-a help console login", "console login --help"],
])("%s shows what %s shows", async (line, same) => {
  const ended = await runInProcess(line.split(" "));
  expect(ended).toEqual(await runInProcess(same.split(" ")));
  expect(ended).toMatchObject({ code: 0, notes: "" });
});

test.each([
  ["iamkey a b", undefined, ["iamkey/a", "iamkey/b"]],
  ["ApiKeys.iam-operator.io a iamsa/b", undefined, ["ApiKeys.iam-operator.io/a", "iamsa/b"]],
  ["iamkey", undefined, ["iamkey"]],
  ["a iamkey", undefined, ["a", "iamkey"]],
  ["iamsa ci", 1, ["iamsa/ci"]],
  ["iamsa", 1, ["iamsa"]],
  ["iamkey key sak_1", 2, ["iamkey/key", "sak_1"]],
  ["iamkey sak_1", 2, ["iamkey", "sak_1"]],
])("the arguments %s, of at most %s, are the names %j", (line, most, names) => {
  expect(joinKind(line.split(" "), most)).toEqual(names);
});

test("create --export prints a manifest that apply takes, without a cluster", async () => {
  const line = "create apikey ci-bot-key --account ci-bot --secret-name key -n team-a --export";
  const { output, code } = await runInProcess([...line.split(" "), ...NO_CLUSTER]);
  expect(code).toBe(0);
  expect(output).toBe(
    [
      "apiVersion: iam-operator.io/v1alpha1",
      "kind: ApiKey",
      "metadata:",
      "  name: ci-bot-key",
      "  namespace: team-a",
      "spec:",
      "  serviceAccountRef:",
      "    name: ci-bot",
      "  secret:",
      "    name: key",
      "",
    ].join("\n"),
  );
});

test.each([
  [
    `${OWN} --base-url http://c --insecure-http --partition-id p`,
    ["insecureHTTP: true", "partitionId: p"],
  ],
  [
    "create iamsa x --connection iamconn/own --project-id prj-2 --description two",
    ["name: own", "projectId: prj-2", "description: two"],
  ],
  ["create iamkey x --account a --description one", ["description: one"]],
])("%s --export prints all that was given", async (line, given) => {
  const { output, code } = await runInProcess([...line.split(" "), "--export", ...NO_CLUSTER]);
  expect(code).toBe(0);
  for (const text of given) expect(output).toContain(text);
});

test("without a cluster, the error names the settings that select one", async () => {
  const ended = await runInProcess(["status", ...NO_CLUSTER]);
  expect(ended).toMatchObject({ code: 2 });
  expect(ended.notes).toMatch(/set KUBECONFIG, --kubeconfig or --context/);
});

test("every command has help with its options and its examples", async () => {
  for (const { usage, options, examples } of commands) {
    const { output, code } = await runInProcess([...nameOf(usage).split(" "), "--help"]);
    expect(code).toBe(0);
    for (const example of examples) expect(output).toContain(`kubectl iam ${example}`);
    if (options.length > 0) expect(output).toContain("Options:");
  }
});

test("the help names the kinds", async () => {
  const { output } = await runInProcess(["--help"], { columns: 500 });
  for (const { kind, shortName } of kinds) expect(output).toContain(`${shortName} (${kind})`);
});
