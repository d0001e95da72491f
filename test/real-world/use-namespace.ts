import { afterAll, beforeAll, inject } from "vitest";
import { namespaceType } from "../../src/kube/resource-types.ts";
import { systemRandom } from "../../src/util/random.ts";
import { connect, type RealClient } from "../cluster/real-client.ts";

interface OwnNamespace extends RealClient {
  readonly namespace: string;
}

/** A namespace of the shared control plane, for all tests around it. */
export function useNamespace(prefix: string): () => OwnNamespace {
  let own: OwnNamespace | undefined;
  beforeAll(async () => {
    const real = await connect(inject("controlPlane").kubeconfig);
    const namespace = `${prefix}-${systemRandom.id()}`;
    await real.client.create(namespaceType, { metadata: { name: namespace } });
    own = { ...real, namespace };
  });
  afterAll(() => own?.transport.close());
  return () => {
    if (own === undefined) throw new Error("there is a namespace only while tests run");
    return own;
  };
}
