/** The rights of an operator for some namespaces. */
import { describeRights } from "./support/rights-suite.ts";

describeRights([
  {
    title: "listed namespaces, with restarts of workloads",
    system: "sys-listed",
    settings: ["scope.namespaces={listed-a,listed-b}", "consumers.mode=restart"],
    shared: false,
    isWatched: true,
    tenants: ["listed-a", "listed-b"],
  },
  {
    title: "listed namespaces with ClusterConnections",
    system: "sys-mixed",
    settings: [
      "scope.namespaces={mixed-a}",
      "scope.clusterConnections=true",
      "rbac.configMaps={console-ca}",
    ],
    shared: true,
    isWatched: true,
    tenants: ["mixed-a"],
  },
]);
