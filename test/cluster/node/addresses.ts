/** Where the node and its Pods are. They are private to the machine, and one node at a time can have them. */
export const addresses = {
  /** The machine's end of the link to the node. Pods reach servers that listen here, the cluster's DNS among them. */
  host: "10.250.0.1",
  node: "10.250.0.2",
  pods: "10.251.0.0/24",
  services: "10.252.0.0/24",
  firstService: "10.252.0.1",
} as const;

/** The two ends of the link: outside and inside. */
export const links = { outside: "iamop0", inside: "iamop1" } as const;
