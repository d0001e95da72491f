/** The console and the credentials, from flags and environment variables. */
import type { IamCredentials, KeyPair } from "../../console/model.ts";
import type { Invocation } from "../cli/command.ts";
import { UsageError } from "../cli/errors.ts";
import type { Options } from "../cli/options.ts";
import { readSecret, readText } from "./secret-input.ts";
import { type ConsoleTarget, defaultLimits } from "./target.ts";

const variables = {
  baseUrl: "IAM_CONSOLE_URL",
  orgId: "IAM_CONSOLE_ORG_ID",
  projectId: "IAM_CONSOLE_PROJECT_ID",
  domainName: "IAM_CONSOLE_DOMAIN_NAME",
  partitionId: "IAM_CONSOLE_PARTITION_ID",
  caFile: "IAM_CONSOLE_CA_FILE",
  username: "IAM_CONSOLE_USERNAME",
  loginDomain: "IAM_CONSOLE_LOGIN_DOMAIN",
  keyId: "IAM_CONSOLE_KEY_ID",
} as const satisfies Partial<Record<keyof Options, string>>;

/** The flag, otherwise the variable; an empty variable counts as unset. */
export function setting(
  { io, options }: Invocation,
  name: keyof typeof variables,
): string | undefined {
  return options[name] ?? (io.environment[variables[name]] || undefined);
}

/** Throws UsageError if a setting is missing. */
export async function targetFromFlags(invocation: Invocation): Promise<ConsoleTarget> {
  const { io, options } = invocation;
  const baseURL = required(invocation, "baseUrl", "--base-url");
  if (!/^https?:\/\/[^/?#@]+/.test(baseURL))
    throw new UsageError(
      `"${baseURL}" is not a valid address; use https://console.example.com, for example`,
    );
  if (!baseURL.startsWith("https://") && !options.insecureHttp)
    throw new UsageError(
      "credentials would travel unencrypted: use https://, or accept it by --insecure-http",
    );
  const orgId = required(invocation, "orgId", "--org-id");
  const caFile = setting(invocation, "caFile");
  const partitionId = setting(invocation, "partitionId");
  return {
    baseURL,
    orgId,
    projectId: setting(invocation, "projectId"),
    domainId: orgId,
    domainName: required(invocation, "domainName", "--domain-name"),
    ...(partitionId === undefined ? {} : { partitionId }),
    caBundle: caFile === undefined ? undefined : await readText(io, caFile),
    limits: defaultLimits,
  };
}

function required(invocation: Invocation, name: keyof typeof variables, flag: string): string {
  const value = setting(invocation, name);
  if (value !== undefined) return value;
  throw new UsageError(`${flag} or ${variables[name]} is needed with an address of a console`);
}

/** `undefined` if no setting names a user. */
export async function userFromFlags(invocation: Invocation): Promise<IamCredentials | undefined> {
  const { io, options } = invocation;
  const username = setting(invocation, "username");
  if (
    options.tokenFile !== undefined ||
    (username === undefined && io.environment.IAM_CONSOLE_TOKEN)
  ) {
    const variable = "IAM_CONSOLE_TOKEN";
    const question = "Token: ";
    const token = await readSecret(io, {
      option: "tokenFile",
      file: options.tokenFile,
      variable,
      question,
    });
    return { kind: "token", token };
  }
  if (username === undefined) return undefined;
  const domain = setting(invocation, "loginDomain");
  if (domain === undefined)
    throw new UsageError("--login-domain or IAM_CONSOLE_LOGIN_DOMAIN is needed with a user name");
  const password = await readSecret(io, {
    option: "passwordFile",
    file: options.passwordFile,
    variable: "IAM_CONSOLE_PASSWORD",
    question: `Password of ${username}: `,
  });
  return { kind: "login", username, password, domain };
}

/** `undefined` if no setting names a key. */
export async function keyFromFlags(invocation: Invocation): Promise<KeyPair | undefined> {
  const { io, options } = invocation;
  const keyId = setting(invocation, "keyId");
  if (keyId === undefined) return undefined;
  const secret = await readSecret(io, {
    option: "keySecretFile",
    file: options.keySecretFile,
    variable: "IAM_CONSOLE_KEY_SECRET",
    question: `Secret of key ${keyId}: `,
  });
  return { keyId, secret };
}
