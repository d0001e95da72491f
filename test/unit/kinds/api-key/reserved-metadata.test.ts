/** Which labels and annotations of a Secret need the connection's permission. */
import { expect, test } from "vitest";
import { withoutReserved } from "../../../../src/kinds/api-key/rules/reserved-metadata.ts";
import { keySpec } from "./builders.ts";

const secretType = "argocd.argoproj.io/secret-type";

function refused(key: string, ...allowedSecretMetadata: readonly string[]): readonly string[] {
  const spec = keySpec({ secret: { annotations: { [key]: "x", "example.com/note": "x" } } });
  return withoutReserved(spec, [{ allowedSecretMetadata }]).reservedMetadata;
}

test.each([
  secretType,
  "replicator.v1.mittwald.de/replicate-to",
  "reflector.v1.k8s.emberstack.com/reflection-allowed",
  "kubed.appscode.com/sync",
  "kustomize.toolkit.fluxcd.io/prune",
  "meta.helm.sh/release-name",
  "sealedsecrets.bitnami.com/managed",
  "argoproj.io/x",
  "vault.security.banzaicloud.io/vault-path",
  "field.cattle.io/projectId",
  "cert-manager.io/issuer-name",
  "cluster.x-k8s.io/cluster-name",
  "clustersecret.io/sync",
  "reconcile.external-secrets.io/data-hash",
  "apps.open-cluster-management.io/hosting-subscription",
])("%s is not written unless the connection allows it", (key) => {
  expect(refused(key)).toEqual([key]);
  expect(refused(key, key)).toEqual([]);
  expect(refused(key, key.split("/")[0] ?? "")).toEqual([]);
  expect(refused(key, "*")).toEqual([]);
  expect(refused(key, "example.com", `${key}-2`)).toEqual([key]);
});

test.each([
  "team",
  "app.kubernetes.io/part-of",
  "reloader.stakater.com/match",
  "not-argoproj.io/x",
  "argoproj.io",
  "argoproj.iox",
])("%s is the user's own", (key) => {
  expect(refused(key)).toEqual([]);
});

test("what is not allowed is left out of labels and annotations, and nothing else is", () => {
  const labels = { [secretType]: "cluster", team: "a" };
  const annotations = { "kubed.appscode.com/sync": "", "example.com/note": "b" };
  const spec = keySpec({ secret: { labels, annotations } });
  const { spec: kept, reservedMetadata } = withoutReserved(spec, [{ allowedSecretMetadata: [] }]);
  expect(reservedMetadata).toEqual([secretType, "kubed.appscode.com/sync"]);
  expect(kept.secret).toEqual({
    ...spec.secret,
    labels: { team: "a" },
    annotations: { "example.com/note": "b" },
  });
});
