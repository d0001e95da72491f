/** Clients of a read-only operator. They write nothing except the statuses of the operator's own kinds. */
import { GROUP } from "../api/meta.ts";
import type { KubeClient } from "../kube/client/client.ts";
import { type KubeReader, toKubeReader } from "../kube/client/reader.ts";

/** Reads objects, and writes only the statuses of the operator's own kinds. */
export function toReportingKube(client: KubeClient): KubeClient {
  return {
    ...toReadOnlyKube(toKubeReader(client)),
    apply: async (type, object, options) =>
      type.group === GROUP && options?.subresource === "status"
        ? client.apply(type, object, options)
        : refuse(),
  };
}

/** Reads objects, and writes none. */
export function toReadOnlyKube(reader: KubeReader): KubeClient {
  return {
    ...reader,
    create: refuse,
    apply: refuse,
    mergePatch: refuse,
    replace: refuse,
    delete: refuse,
  };
}

/** Rejects a call that would change the console. Always throws. */
export function refuseMutation(): never {
  throw new Error("a read-only operator changes nothing");
}

async function refuse(): Promise<never> {
  refuseMutation();
}
