/** The permitted types of a Secret with a key pair. */
import * as z from "zod";
import { celPattern, type Rule, withRule } from "./rule.ts";

export const OPAQUE = "Opaque";
const BASIC_AUTH = "kubernetes.io/basic-auth";
const DOCKER_CONFIG = "kubernetes.io/dockerconfigjson";
const builtIn = [OPAQUE, BASIC_AUTH, DOCKER_CONFIG] as const;

const OWN_TYPE =
  /^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)+[/][-._A-Za-z0-9]+$/;
/** Types on which other programs act: tokens of any service account, credentials of new nodes, Helm releases. */
const RESERVED = /^(.*[.])?(kubernetes[.]io|k8s[.]io|helm[.]sh)[/]/;

export const secretTypeSchema = withRule(z.string().max(253), {
  rule: `self in [${builtIn.map((type) => `'${type}'`).join(", ")}] || (self.matches(${celPattern(OWN_TYPE)}) && !self.matches(${celPattern(RESERVED)}))`,
  message: `must be ${BASIC_AUTH}, ${DOCKER_CONFIG}, ${OPAQUE}, or a custom type such as example.com/type; other types of Kubernetes and Helm do not fit key pairs`,
  holds: (type) =>
    builtIn.some((each) => each === type) || (OWN_TYPE.test(type) && !RESERVED.test(type)),
});

interface TypedData {
  readonly type: string;
  readonly data: Readonly<Record<string, string>>;
}

const DOCKER_ENTRY = ".dockerconfigjson";
/** A secret can contain characters that JSON must escape. */
const RAW_SECRET = /(^|[^$])[$][{](secret|previousSecret)[}]/;

/**
 * Checks the entries as the API server does, and that no secret can break the format.
 */
export const typedDataRules: readonly Rule<TypedData>[] = [
  {
    field: "data",
    rule: `!has(self.type) || self.type != '${BASIC_AUTH}' || (has(self.data) && 'username' in self.data && 'password' in self.data)`,
    message: `must have the entries of type ${BASIC_AUTH}, such as {username: "\${keyId}", password: "\${secret}"}`,
    holds: ({ type, data }) =>
      type !== BASIC_AUTH || (Object.hasOwn(data, "username") && Object.hasOwn(data, "password")),
  },
  {
    field: "data",
    rule: `!has(self.type) || self.type != '${DOCKER_CONFIG}' || (has(self.data) && '${DOCKER_ENTRY}' in self.data && !self.data['${DOCKER_ENTRY}'].matches(${celPattern(RAW_SECRET)}))`,
    message: `must have the entry of type ${DOCKER_CONFIG} with \${secret:json} in place of \${secret}, such as {${DOCKER_ENTRY}: '{"auths": {"registry.example.com": {"username": \${keyId:json}, "password": \${secret:json}}}}'}`,
    holds: ({ type, data }) =>
      type !== DOCKER_CONFIG ||
      (Object.hasOwn(data, DOCKER_ENTRY) && !RAW_SECRET.test(data[DOCKER_ENTRY] ?? "")),
  },
];
