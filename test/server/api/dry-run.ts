/** Creations that a real API server judges and does not keep, over HTTP: milliseconds each, where kubectl takes a fifth of a second. */
import { readFileSync } from "node:fs";
import { Agent, request } from "node:https";
import { parse } from "yaml";
import type { Kind } from "../../../src/api/kind.ts";
import { API_VERSION } from "../../../src/api/meta.ts";
import type { ControlPlane } from "../../cluster/control-plane.ts";

interface Kubeconfig {
  readonly users: readonly { readonly user: { readonly token: string } }[];
}

export interface Answer {
  /** 201 if the server would create the object. */
  readonly status: number;
  /** The object with its defaults, or a Status whose message names each violation. */
  readonly body: { readonly spec?: unknown; readonly message?: string };
}

export interface DryRun {
  create(kind: Kind, object: unknown, namespace?: string): Promise<Answer>;
  close(): void;
}

/** Creates as the administrator of the cluster. */
export function startDryRun({ kubeconfig, caFile, url }: ControlPlane): DryRun {
  const token = (parse(readFileSync(kubeconfig, "utf8")) as Kubeconfig).users[0]?.user.token ?? "";
  const agent = new Agent({ ca: readFileSync(caFile), keepAlive: true });
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  return {
    create: (kind, object, namespace = "default") => {
      const where = kind.scope === "Cluster" ? "" : `namespaces/${namespace}/`;
      const target = `${url}/apis/${API_VERSION}/${where}${kind.plural}?dryRun=All`;
      return new Promise((resolve, reject) => {
        request(target, { method: "POST", agent, headers }, (response) => {
          const chunks: Buffer[] = [];
          response.on("data", (chunk: Buffer) => chunks.push(chunk));
          response.on("error", reject);
          response.on("end", () =>
            resolve({
              status: response.statusCode ?? 0,
              body: JSON.parse(Buffer.concat(chunks).toString("utf8")) as Answer["body"],
            }),
          );
        })
          .on("error", reject)
          .end(JSON.stringify(object));
      });
    },
    close: () => agent.destroy(),
  };
}
