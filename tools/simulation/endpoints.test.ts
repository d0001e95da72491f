import { expect, test } from "vitest";
import { kubeEndpoint } from "./endpoints.ts";
import { NO_FAULTS } from "./faults.ts";
import { SimWorld } from "./sim-world.ts";

test("a read that may be answered with an older state fails the run", () => {
  const endpoint = kubeEndpoint(new SimWorld({ seed: 1, plan: NO_FAULTS }).kube);
  const read = (query: string) => {
    const url = `https://kubernetes/api/v1/namespaces/team-a/secrets${query}`;
    return endpoint.handle({ method: "GET", url, headers: {}, timeoutMs: 1, maxBytes: 1 });
  };
  expect(read("").status).toBe(200);
  expect(() => read("?resourceVersion=0")).toThrow("older state");
});
