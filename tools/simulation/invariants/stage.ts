/** A world without an operator, in which anything can be made to have happened: what invariants must not let pass. */
import { FINALIZER, labels } from "../../../src/api/meta.ts";
import type { ResourceType } from "../../../src/kube/resource.ts";
import { leaseType, secretType } from "../../../src/kube/resource-types.ts";
import {
  apiKeyType,
  policyBindingType,
  serviceAccountType,
} from "../../../src/resources/resource-types.ts";
import { toIso8601 } from "../../../src/util/time.ts";
import { ApiFailure } from "../../api-server/failure.ts";
import type { Tree } from "../../api-server/tree.ts";
import { SEEDED } from "../../iam-server/seed.ts";
import type { AccountRecord } from "../../iam-server/world.ts";
import { NO_FAULTS, type Plan } from "../faults.ts";
import { Invariants } from "../invariants.ts";
import type { CallRecord } from "../journal.ts";
import { NAMESPACE, OPERATOR_NAMESPACE } from "../places.ts";
import { SimWorld } from "../sim-world.ts";
import { asApiKey } from "./view.ts";

export class Stage {
  readonly world: SimWorld;
  readonly invariants: Invariants;
  readonly account: AccountRecord;

  constructor(plan: Plan = NO_FAULTS, flags: readonly string[] = []) {
    this.world = new SimWorld({ seed: 1, plan, flags });
    const name = `${NAMESPACE}-ci-bot`;
    this.account = this.console.createAccount({ ...SEEDED, name, description: "" });
    this.invariants = new Invariants(this.world);
  }

  get console() {
    return this.world.console.world;
  }

  /** The names of what did not hold up to now. */
  async broken(): Promise<readonly string[]> {
    await this.pass(1);
    return [...new Set(this.invariants.violations.map(({ invariant }) => invariant))];
  }

  /** Lets time pass, with an event every minute or so. */
  async pass(ms: number): Promise<void> {
    const { kernel } = this.world;
    const step = Math.min(ms, 30_000);
    for (let left = ms; left > 0; left -= step) {
      kernel.schedule(Math.min(step, left), () => undefined);
      await kernel.advance(Math.min(step, left));
    }
  }

  time(ms = 0): string {
    return toIso8601(this.world.kernel.now + ms);
  }

  /** As the operator does it: everything in here is its doing. */
  asOperator<T>(act: () => T): T {
    const { kube } = this.world;
    const changes = this.console.journal.length;
    kube.actor = "operator";
    try {
      return act();
    } finally {
      kube.actor = "user";
      for (const change of this.console.journal.slice(changes))
        this.world.console.ownChanges.add(change);
    }
  }

  apiKey(spec: Tree = {}): void {
    this.#create(apiKeyType, "ci", { serviceAccountRef: { name: "ci-bot" }, ...spec });
  }

  serviceAccount(spec: Tree = {}): void {
    this.#create(serviceAccountType, "ci-bot", spec);
    this.status(serviceAccountType, "ci-bot", { saId: this.account.saId, tpn: this.account.tpn });
  }

  binding(policyIds: readonly string[], applied: readonly string[]): void {
    const spec = { serviceAccountRef: { name: "ci-bot" }, policyIds: [...policyIds] };
    this.#create(policyBindingType, "reader", spec);
    this.status(policyBindingType, "reader", { appliedPolicyIds: [...applied] });
  }

  get stored() {
    return asApiKey(this.world.get(apiKeyType, "ci") ?? {});
  }

  /** As the operator writes it, over what is there. */
  status(type: ResourceType, name: string, status: Tree): void {
    this.asOperator(() => this.world.patch(type, name, { status }, "status"));
  }

  /** A key at the console, with a secret; issued as by the object `name`. */
  issue(attempt = "attempt-1", expiresInDays = 90, name = "ci"): { keyId: string; secret: string } {
    const { saId } = this.account;
    const description = `k8s ${NAMESPACE}/${name}#${attempt}`;
    return this.asOperator(() => {
      const { key, secret } = this.console.issueKey(saId, { description, expiresInDays });
      return { keyId: key.keyId, secret };
    });
  }

  /** The status of `ci` after an issue that went well. */
  current(keyId: string, change: Tree = {}): Tree {
    return {
      keyId,
      issueTime: this.time(),
      expirationTime: this.time(90 * 86_400_000),
      verificationTime: this.time(),
      revision: 1,
      serviceAccount: "ci-bot",
      saId: this.account.saId,
      ...change,
    };
  }

  secret(stringData: Tree, metadata: Tree = {}, rest: Tree = {}): void {
    this.asOperator(() =>
      this.world.create(secretType, {
        metadata: {
          name: "ci",
          namespace: NAMESPACE,
          labels: { [labels.apiKey]: "ci", [labels.role]: "target" },
          ...metadata,
        },
        stringData,
        ...rest,
      }),
    );
  }

  lease(holderIdentity: string): void {
    const spec = { holderIdentity, leaseDurationSeconds: 15 };
    const metadata = { name: "iam-operator", namespace: OPERATOR_NAMESPACE };
    this.asOperator(() => this.world.create(leaseType, { metadata, spec }));
  }

  /** From here on nobody can take a lease, for reasons that no fault is to blame for. */
  refuseLeases(): void {
    this.world.kube.admission.push(({ kind }) => {
      if (kind.type.kind === leaseType.kind)
        throw new ApiFailure(403, "Forbidden", "no lease for anybody");
    });
  }

  /** A call as it is when it has just been sent. */
  call(change: Partial<CallRecord>): CallRecord {
    const { kernel, journal } = this.world;
    const { outcome, ...sent } = change;
    const record = journal.open({
      sentAt: kernel.elapsed,
      process: "a-1",
      server: "iam",
      operation: "login",
      target: "",
      mutating: false,
      isConditional: false,
      fault: undefined,
      sentRevision: 0,
      ...sent,
    });
    record.outcome = outcome;
    return record;
  }

  delete(type: ResourceType, name: string): void {
    this.world.delete(type, name);
  }

  /** Held by the operator's finalizer. */
  #create(type: ResourceType, name: string, spec: Tree): void {
    const metadata = { name, namespace: NAMESPACE, finalizers: [FINALIZER] };
    this.world.create(type, { metadata, spec });
  }
}
