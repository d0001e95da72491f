/** The rights of an operator for the whole cluster. */
import { describeRights } from "./support/rights-suite.ts";

describeRights([
  {
    title: "the whole cluster",
    system: "sys-all",
    settings: [],
    shared: true,
    isWatched: false,
    tenants: ["all-a"],
  },
  {
    title: "strict, with restarts of workloads",
    system: "sys-strict",
    settings: [
      "secrets.strict=true",
      "secrets.namespaces={strict-a}",
      "rbac.configMaps={console-ca}",
      "consumers.mode=restart",
    ],
    shared: true,
    isWatched: false,
    tenants: ["strict-a"],
  },
]);
