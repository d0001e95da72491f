/** The people and programs that may talk to a control plane, each with a token. */
import { randomBytes } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";

/** A user as the API server sees it. Without RBAC bindings it may do next to nothing. */
export interface User {
  readonly name: string;
  readonly groups?: readonly string[];
}

/** A user and what it authenticates with. */
export interface Account extends User {
  readonly token: string;
}

export const controllerManagerUser = "system:kube-controller-manager";

const defaultUsers: readonly User[] = [
  { name: "admin", groups: ["system:masters"] },
  { name: "operator" },
  { name: "alice" },
  { name: "mallory" },
  { name: controllerManagerUser },
];

/** Accounts for the default users and the wanted ones; a wanted one replaces its namesake. */
export function createAccounts(wanted: readonly User[]): ReadonlyMap<string, Account> {
  const users = [...defaultUsers, ...wanted];
  return new Map(
    users.map((user) => [user.name, { ...user, token: randomBytes(24).toString("hex") }]),
  );
}

/** Writes the file from which the API server learns the tokens. */
export function writeTokenFile(file: string, accounts: Iterable<Account>): void {
  const lines = [...accounts].map(
    ({ token, name, groups = [] }) => `${token},${name},${name},"${groups.join(",")}"\n`,
  );
  writeFileSync(file, lines.join(""), { mode: 0o600 });
}

/** Where in `directory` the kubeconfig of a user is. */
export function kubeconfigPath(directory: string, user: string): string {
  return join(directory, `${user.replaceAll(/[^a-zA-Z0-9.-]/g, "-")}.kubeconfig`);
}

/** Writes a kubeconfig that stands alone: it may be copied anywhere on this machine. */
export function writeKubeconfig(
  file: string,
  { url, authority }: { url: string; authority: string },
  { name, token }: Account,
): void {
  const ca = Buffer.from(authority).toString("base64");
  const text = `apiVersion: v1
kind: Config
clusters:
- name: testbed
  cluster:
    server: ${url}
    certificate-authority-data: ${ca}
users:
- name: ${JSON.stringify(name)}
  user:
    token: ${token}
contexts:
- name: testbed
  context:
    cluster: testbed
    user: ${JSON.stringify(name)}
current-context: testbed
`;
  writeFileSync(file, text, { mode: 0o600 });
}
