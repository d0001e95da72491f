import * as z from "zod";
import {
  commonStatus,
  connectionRef,
  durationBetween,
  localRef,
  suspend,
  timestamp,
} from "./fields.ts";
import { defineKind } from "./kind.ts";
import { atomic, setOf } from "./lists.ts";
import type { IamObject } from "./meta.ts";

const filter = z.string().min(1).max(253);

const spec = z.object({
  connectionRef,
  clusterId: z
    .int()
    .min(1)
    .meta({ description: "The number of the container cluster in the console." }),
  namespaces: setOf(filter, 100)
    .default([])
    .meta({ description: "Only quotas of these namespaces." }),
  filterNames: setOf(filter, 100)
    .default([])
    .meta({ description: "Only quotas whose name contains one of these texts." }),
  interval: durationBetween("15s", "24h")
    .default("5m")
    .meta({ description: "How often the listing is taken: 15s to 24h." }),
  apiKeyRef: localRef.optional().meta({
    description:
      "List with the key of this ApiKey; otherwise with the connection's own login, which a grant of a ClusterConnection must allow with quotaExports.",
  }),
  suspend,
});

const status = z.object({
  ...commonStatus,
  lastSuccessTime: timestamp
    .optional()
    .meta({ description: "When the listing was last taken as a whole." }),
  total: z.int().min(0).optional().meta({ description: "How many quotas the listing holds." }),
  quotas: atomic(
    z.object({
      name: z.string().max(512).meta({ description: "The quota's name." }),
      namespace: z.string().max(512).meta({ description: "The quota's namespace." }),
      status: z
        .string()
        .max(512)
        .optional()
        .meta({ description: "The quota's status, as the console words it." }),
      request: z
        .string()
        .max(4_096)
        .meta({ description: "Requests used and allowed, as the console words them." }),
      limit: z
        .string()
        .max(4_096)
        .meta({ description: "Limits used and allowed, as the console words them." }),
      creationTime: z
        .string()
        .max(64)
        .meta({ description: "When the quota was created, as the console words it." }),
    }),
    100,
  )
    .optional()
    .meta({ description: "The first 100 quotas, by name." }),
  truncated: z
    .boolean()
    .optional()
    .meta({ description: "Whether the listing holds more quotas than status.quotas shows." }),
});

export const resourceQuotaExportKind = defineKind({
  kind: "ResourceQuotaExport",
  plural: "resourcequotaexports",
  singular: "resourcequotaexport",
  shortName: "iamrq",
  scope: "Namespaced",
  hasFinalizer: false,
  writtenBy: "edit",
  description: "The container ResourceQuota listing of one cluster, as status and as metrics.",
  spec,
  status,
  rules: [],
  columns: [
    {
      name: "Cluster",
      type: "integer",
      jsonPath: ".spec.clusterId",
      description: "The container cluster.",
    },
    { name: "Quotas", type: "integer", jsonPath: ".status.total", description: "Quotas listed." },
    {
      name: "Last-Success",
      type: "date",
      jsonPath: ".status.lastSuccessTime",
      description: "Time since the last whole listing.",
    },
  ],
  selectableFields: [],
});

export type ResourceQuotaExportSpec = z.output<typeof spec>;
export type ResourceQuotaExportStatus = z.output<typeof status>;
export type ResourceQuotaExport = IamObject<ResourceQuotaExportSpec, ResourceQuotaExportStatus>;
