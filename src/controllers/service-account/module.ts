import { connectionOf } from "../connection-key.ts";
import { defineKind } from "../frame/kind-module.ts";
import { indexes } from "../indexes.ts";
import { serviceAccountType } from "../resource-types.ts";
import { saIdIndex } from "./claims.ts";

export const serviceAccounts = defineKind({
  type: serviceAccountType,
  cache: { indexes: { [indexes.connection]: connectionOf, [indexes.saId]: saIdIndex } },
});
