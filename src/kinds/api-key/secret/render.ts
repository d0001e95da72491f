/** Desired Secrets of an ApiKey. Pure. */
import type { ApiKeySpec } from "../../../api/api-key.ts";
import { API_VERSION, annotations } from "../../../api/meta.ts";
import { pendingSecretName } from "../../../api/secret-names.ts";
import type { KeyPair } from "../../../console/model.ts";
import type { Secret } from "../../../resources/resource-types.ts";
import { Redacted } from "../../../util/redacted.ts";
import { toIso8601 } from "../../../util/time.ts";
import { listTemplateNames } from "./names.ts";
import { ownLabels, type SecretOwner, secretNameOf, typeOf } from "./owner.ts";
import { accountText, type IssuedPair, pairHash } from "./pair.ts";
import { readBackTemplates } from "./read-back.ts";
import { fillTemplate, renderTemplate } from "./template.ts";

/** Key pairs in a target Secret. */
export interface SecretContents {
  readonly pair: IssuedPair;
  readonly previous: KeyPair | undefined;
}

/** Values of the template variables that do not come from the key pairs. */
export type AccountValues = Readonly<
  Record<
    "saId" | "tpn" | "orgId" | "projectId" | "baseURL" | "domainId" | "domainName" | "partitionId",
    string
  >
>;

const PENDING_TEMPLATES = {
  secret: { entry: "secret", tokens: fillTemplate("${secret}", {}) },
};

/** Desired entries of the target Secret. */
export function renderEntries(
  template: Readonly<Record<string, string>>,
  account: AccountValues,
  contents: SecretContents,
): Redacted<Readonly<Record<string, string>>> {
  const { pair, previous } = contents;
  const values = {
    ...publicValues(account, contents),
    secret: pair.secret.reveal(),
    previousSecret: previous?.secret.reveal() ?? "",
  };
  return new Redacted(
    Object.fromEntries(
      Object.entries(template).map(([name, text]) => [name, renderTemplate(text, values)]),
    ),
  );
}

/** The Secret that consumers mount. */
export function targetSecret(
  owner: SecretOwner,
  spec: ApiKeySpec,
  account: AccountValues,
  contents: SecretContents,
): Secret {
  const { pair, previous } = contents;
  const entries = renderEntries(spec.secret.data, account, contents);
  const templates = readBackTemplates(spec.secret.data, publicValues(account, contents));
  return manifest(owner, secretNameOf(owner.name, spec), entries, {
    type: typeOf("target", spec),
    owned: spec.secret.deletionPolicy === "Delete",
    labels: { ...spec.secret.labels, ...ownLabels(owner, "target") },
    annotations: {
      ...spec.secret.annotations,
      ...listTemplateNames(spec.secret),
      ...pairAnnotations(pair),
      [annotations.template]: JSON.stringify(templates),
      ...(previous === undefined || templates.previousSecret === undefined
        ? {}
        : {
            [annotations.previousKeyId]: previous.keyId,
            [annotations.previousPairHash]: pairHash(previous),
          }),
    },
  });
}

/**
 * The Secret that holds a new pair until consumers have it. It has the declared labels and annotations too, because a
 * policy of the cluster may require them.
 */
export function pendingSecret(
  owner: SecretOwner,
  spec: ApiKeySpec,
  pair: IssuedPair,
  attemptId: string,
): Secret {
  const entries = new Redacted({ keyId: pair.keyId, secret: pair.secret.reveal() });
  return manifest(owner, pendingSecretName(secretNameOf(owner.name, spec)), entries, {
    type: typeOf("pending", spec),
    owned: true,
    labels: { ...spec.secret.labels, ...ownLabels(owner, "pending") },
    annotations: {
      ...spec.secret.annotations,
      ...pairAnnotations(pair),
      [annotations.attempt]: attemptId,
      [annotations.template]: JSON.stringify(PENDING_TEMPLATES),
    },
  });
}

/** The Secret for the dry run of a first issue: the pending Secret with everything that the target will have. */
export function dryRunSecret(
  owner: SecretOwner,
  spec: ApiKeySpec,
  account: AccountValues,
  pair: IssuedPair,
): Secret {
  const pending = pendingSecret(owner, spec, pair, "dry-run");
  const target = targetSecret(owner, spec, account, { pair, previous: undefined });
  return {
    ...target,
    metadata: {
      ...target.metadata,
      name: pending.metadata.name,
      labels: { ...target.metadata.labels, ...pending.metadata.labels },
    },
    data: { ...pending.data, ...target.data },
  };
}

function pairAnnotations(pair: IssuedPair): Readonly<Record<string, string>> {
  const account = accountText(pair);
  return {
    ...(account === undefined ? {} : { [annotations.account]: account }),
    [annotations.keyId]: pair.keyId,
    [annotations.issueTime]: toIso8601(pair.issueTime),
    [annotations.expirationTime]: toIso8601(pair.expirationTime),
    [annotations.revision]: String(pair.revision),
    [annotations.pairHash]: pairHash(pair, account),
  };
}

function publicValues(
  account: AccountValues,
  { pair, previous }: SecretContents,
): Readonly<Record<string, string>> {
  return {
    ...account,
    keyId: pair.keyId,
    previousKeyId: previous?.keyId ?? "",
    issueTime: toIso8601(pair.issueTime),
    expirationTime: toIso8601(pair.expirationTime),
  };
}

interface ManifestParts {
  readonly type: string;
  readonly owned: boolean;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

function manifest(
  owner: SecretOwner,
  name: string,
  entries: Redacted<Readonly<Record<string, string>>>,
  parts: ManifestParts,
): Secret {
  return {
    apiVersion: "v1",
    kind: "Secret",
    metadata: {
      name,
      namespace: owner.namespace,
      labels: parts.labels,
      annotations: parts.annotations,
      ...(parts.owned
        ? {
            ownerReferences: [
              {
                apiVersion: API_VERSION,
                kind: "ApiKey",
                name: owner.name,
                uid: owner.uid,
                controller: true,
                blockOwnerDeletion: true,
              },
            ],
          }
        : {}),
    },
    type: parts.type,
    data: Object.fromEntries(
      Object.entries(entries.reveal()).map(([key, text]) => [
        key,
        Buffer.from(text, "utf8").toString("base64"),
      ]),
    ),
  };
}
