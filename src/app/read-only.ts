/** The clients of an operator that is read-only: whatever else it holds, these change nothing. */
import { GROUP } from "../api/meta.ts";
import type { KubeClient } from "../kube/client/client.ts";
import { toKubeReader } from "../kube/client/reader.ts";

/** The reading half of a client, and statuses of our own kinds. */
export function toReportingKube(client: KubeClient): KubeClient {
  return {
    ...toKubeReader(client),
    create: refuse,
    apply: async (type, object, options) =>
      type.group === GROUP && options?.subresource === "status"
        ? client.apply(type, object, options)
        : refuse(),
    mergePatch: refuse,
    replace: refuse,
    delete: refuse,
  };
}

/** Before a call that changes something in the console. */
export function refuseMutation(): never {
  throw new Error("a read-only operator changes nothing");
}

async function refuse(): Promise<never> {
  refuseMutation();
}
