import { defineKind } from "../frame/kind-module.ts";
import { indexes } from "../indexes.ts";
import { accountKey, indexedAs } from "../refs.ts";
import { policyBindingType } from "../resource-types.ts";

export const policyBindings = defineKind({
  type: policyBindingType,
  cache: {
    indexes: { [indexes.serviceAccount]: (binding) => indexedAs(accountKey(binding)) },
  },
});
