/** What stories about single accounts need: objects changed, calls struck, and the books in between. */
import type { ApiKey } from "../../../src/api/api-key.ts";
import { isTrue } from "../../../src/api/conditions.ts";
import { API_VERSION, annotations as known } from "../../../src/api/meta.ts";
import {
  apiKeyType,
  connectionType,
  policyBindingType,
  secretType,
  serviceAccountType,
} from "../../../src/controllers/resource-types.ts";
import type { ResourceType } from "../../../src/kube/resource.ts";
import type { ConsoleFault, Fault } from "../../../tools/iam-server/faults.ts";
import type { AnyOperation } from "../../../tools/iam-server/operations.ts";
import type { RequestRecord } from "../../../tools/iam-server/request-log.ts";
import { takeStock } from "./ledger.ts";
import type { Place, Rig } from "./rig.ts";
import { until } from "./until.ts";

export interface Accounts {
  /** Has a gateway or the network befall one call, or some, for one account. */
  strike(operation: AnyOperation, fault: ConsoleFault, where: Where, times?: number): Fault;
  /** Milliseconds until the ApiKey is Ready with a key that the console accepts, in its Secret. */
  untilReady(name: string, timeoutMs?: number): Promise<number>;
  /** Milliseconds until a status names every key and account that the console has of these accounts. */
  untilBalanced(accounts: readonly string[], timeoutMs?: number): Promise<number>;
  /** Asks for another look by annotation, as `kubectl iam reconcile` does. */
  reconcile(account: string, apiKeys?: readonly string[]): Promise<void>;
  rotate(name: string): Promise<void>;
  deleteSecret(name: string): Promise<void>;
  bind(account: string, policyIds: readonly string[]): Promise<void>;
  revoke(account: string): Promise<void>;
  apiKey(name: string): Promise<ApiKey | undefined>;
  /** Accounts that the console has of that name, in the order in which they were made. */
  accountIds(account: string): readonly string[];
  /** Keys that the console has of an account. */
  keyIds(account: string): readonly string[];
}

export type Where = (request: RequestRecord) => boolean;

/** Which calls change something for an account, by its name in Kubernetes. */
export function ofAccount({ iam, namespace }: Place, account: string): Where {
  const name = `${namespace}-${account}`;
  return ({ path, body }) => {
    const { world } = iam;
    const saId = [...world.accounts.values()].find((each) => each.name === name)?.saId;
    const { targetId, name: wanted } = (body ?? {}) as { targetId?: string; name?: string };
    const isNamed = saId !== undefined && (path.includes(saId) || targetId?.includes(saId));
    return wanted === name || isNamed === true;
  };
}

export async function openAccounts(
  { kube }: Pick<Rig, "kube">,
  place: Place,
  callTimeout: string,
): Promise<Accounts> {
  const { namespace, iam } = place;
  const annotate = (type: ResourceType, name: string, annotation: string) => {
    const annotations = { [annotation]: String(performance.now()) };
    return kube.mergePatch(type as never, { namespace, name }, { metadata: { annotations } });
  };
  const get = (name: string) => kube.get(apiKeyType, { namespace, name });
  const connection = { namespace, name: "console" };
  await kube.mergePatch(connectionType, connection, { spec: { limits: { timeout: callTimeout } } });
  return {
    strike: (operation, fault, where, times = 1) =>
      iam.faults.add({ operation, fault, where, times }),
    untilReady: (name, timeoutMs = 120_000) =>
      taken(() => until(`${name} to be Ready`, async () => isUsable(await get(name)), timeoutMs)),
    untilBalanced: (accounts, timeoutMs = 120_000) =>
      taken(async () => {
        let lost: readonly string[] = [];
        const isBalanced = async () => {
          const { unaccounted } = await takeStock(kube, iam, namespace);
          const own = new Set(accounts.flatMap(idsOf));
          lost = unaccounted.filter((id) => own.has(id));
          return lost.length === 0;
        };
        await until(() => `a status that names ${lost.join(", ")}`, isBalanced, timeoutMs);
      }),
    async reconcile(account, apiKeys = []) {
      await annotate(serviceAccountType, account, known.reconcileRequestedAt);
      for (const name of apiKeys) await annotate(apiKeyType, name, known.reconcileRequestedAt);
    },
    rotate: async (name) => void (await annotate(apiKeyType, name, known.rotateRequestedAt)),
    async deleteSecret(name) {
      const secret = await kube.get(secretType, { namespace, name });
      const { uid } = secret?.metadata ?? {};
      await kube.delete(
        secretType,
        { namespace, name },
        uid === undefined ? {} : ({ uid } as never),
      );
    },
    async bind(account, policyIds) {
      const spec = { serviceAccountRef: { name: account }, policyIds };
      const metadata = { namespace, name: account };
      const binding = { apiVersion: API_VERSION, kind: "PolicyBinding", metadata, spec };
      await kube.apply(policyBindingType, binding as never);
    },
    async revoke(account) {
      const spec = { access: "Revoked" };
      await kube.mergePatch(serviceAccountType, { namespace, name: account }, { spec });
    },
    apiKey: get,
    accountIds: (account) => consoleAccounts(account).map(({ saId }) => saId),
    keyIds: (account) => consoleAccounts(account).flatMap(({ saId }) => keyIdsOf(saId)),
  };

  function consoleAccounts(account: string) {
    const name = `${namespace}-${account}`;
    return [...iam.world.accounts.values()].filter((each) => each.name === name);
  }

  function keyIdsOf(saId: string): readonly string[] {
    return iam.world.keysOf(saId).map(({ keyId }) => keyId);
  }

  function idsOf(account: string): readonly string[] {
    return consoleAccounts(account).flatMap(({ saId }) => [saId, ...keyIdsOf(saId)]);
  }

  function isUsable(apiKey: ApiKey | undefined): boolean {
    const { current, conditions } = apiKey?.status ?? {};
    const isKept = current !== undefined && iam.world.whyKeyIsRefused(current.keyId) === undefined;
    return isKept && isTrue(conditions, "Ready");
  }
}

async function taken(work: () => Promise<void>): Promise<number> {
  const at = performance.now();
  await work();
  return performance.now() - at;
}
