import { defineKind } from "../frame/kind-module.ts";
import { indexes } from "../indexes.ts";
import { accountKey, indexedAs } from "../refs.ts";
import { apiKeyType } from "../resource-types.ts";
import { secretNameIndex } from "./secret-claims.ts";

export const apiKeys = defineKind({
  type: apiKeyType,
  cache: {
    indexes: {
      [indexes.serviceAccount]: (apiKey) => indexedAs(accountKey(apiKey)),
      [indexes.secretName]: secretNameIndex,
      [indexes.openAttempt]: (apiKey) =>
        apiKey.status?.attempt === undefined ? [] : indexedAs(accountKey(apiKey)),
    },
  },
});
