import { z } from "zod";
import { commonStatus, connectionRef, duration, localRef, suspend, timestamp } from "./fields.ts";
import { ageColumn, defineKind, readyColumn } from "./kind.ts";
import type { IamObject } from "./meta.ts";

const filter = z.string().min(1).max(253);

const spec = z.object({
  connectionRef,
  clusterId: z.int().min(1).meta({ description: "The container cluster at the console." }),
  namespaces: z
    .array(filter)
    .max(100)
    .default([])
    .meta({ description: "Only quotas of these namespaces." }),
  filterNames: z
    .array(filter)
    .max(100)
    .default([])
    .meta({ description: "Only quotas whose name contains one of these." }),
  interval: duration
    .default("5m")
    .meta({ description: "How often the listing is taken; at least 15s." }),
  apiKeyRef: localRef.optional().meta({
    description: "List with the key of this ApiKey; otherwise with the connection's own login.",
  }),
  suspend,
});

const status = z.object({
  ...commonStatus,
  lastSuccessTime: timestamp.optional(),
  total: z.int().min(0).optional(),
  statusCounts: z
    .record(z.string().max(256), z.int().min(0))
    .optional()
    .meta({ description: "Quotas by their status; a quota without one counts as None." }),
  quotas: z
    .array(
      z.object({
        name: z.string().max(512),
        namespace: z.string().max(512),
        status: z.string().max(512).optional(),
        request: z.string().max(4_096),
        limit: z.string().max(4_096),
        createdAt: z.string().max(64),
      }),
    )
    .max(100)
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
  description: "The container ResourceQuota listing of one cluster, as status and as metrics.",
  spec,
  status,
  rules: [
    {
      at: "spec",
      rule: "duration(self.interval) >= duration('15s')",
      message: "interval must be at least 15s",
    },
  ],
  columns: [
    readyColumn,
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
    ageColumn,
  ],
  selectableFields: [],
});

export type ResourceQuotaExportSpec = z.output<typeof spec>;
export type ResourceQuotaExportStatus = z.output<typeof status>;
export type ResourceQuotaExport = IamObject<ResourceQuotaExportSpec, ResourceQuotaExportStatus>;
