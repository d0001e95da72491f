/**
 * The network between a process and a server. A call is two events: it is done, and its answer arrives; what
 * the caller gives up is done all the same.
 */
import {
  HttpError,
  type HttpRequest,
  type HttpResponse,
  type SendHttp,
} from "../../src/http/http.ts";
import { refusal } from "../api-server/failure.ts";
import { altered, GARBLED, intercepted, type Refusal } from "../server-fault.ts";
import type { Label } from "./event-queue.ts";
import type { CallFault, FaultPlan, ServerName } from "./faults.ts";
import { type CallRecord, describeCall, type Journal } from "./journal.ts";
import type { Kernel } from "./kernel.ts";
import type { SimProcess } from "./sim-process.ts";

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** A server as the network sees it. */
export interface Endpoint {
  readonly name: ServerName;
  describe(
    request: HttpRequest,
  ): Pick<CallRecord, "operation" | "target" | "tpn" | "mutating" | "isConditional">;
  /** Does the call; a read may be answered from what was so `behindMs` ago. */
  handle(request: HttpRequest, behindMs?: number): Answer;
  /** Lets the call in, to be done later. */
  accept(request: HttpRequest): () => Answer;
  revision(): number;
  /** Least and most milliseconds one way. */
  readonly latency: readonly [number, number];
}

export interface NetworkContext {
  readonly kernel: Kernel;
  readonly journal: Journal;
  readonly faults: FaultPlan;
}

export function createSend(
  context: NetworkContext,
  process: SimProcess,
  endpoint: Endpoint,
): SendHttp {
  return (request) =>
    new Promise((resolve, reject) => {
      const send = () => {
        const call = {
          server: endpoint.name,
          sentRevision: endpoint.revision(),
          ...endpoint.describe(request),
        };
        const fault = context.faults.strike(call);
        if (fault?.kind === "Pause" && fault.when === "BeforeSend") process.pauseFor(fault.ms);
        const depart = () => {
          const record = openRecord(context, process, call, fault);
          new Flight(context, process, endpoint, request, { resolve, reject }, record).start();
        };
        process.deliver(depart, "code");
      };
      // A dead process waits for ever.
      process.deliver(send, "code");
    });
}

function openRecord(
  { kernel, journal }: NetworkContext,
  { name }: SimProcess,
  call: Pick<
    CallRecord,
    "server" | "operation" | "target" | "tpn" | "mutating" | "isConditional" | "sentRevision"
  >,
  fault: CallFault | undefined,
): CallRecord {
  return journal.open({ ...call, sentAt: kernel.elapsed, process: name, fault });
}

interface Caller {
  readonly resolve: (response: HttpResponse) => void;
  readonly reject: (error: HttpError) => void;
}

class Flight {
  readonly #context: NetworkContext;
  readonly #process: SimProcess;
  readonly #endpoint: Endpoint;
  readonly #request: HttpRequest;
  readonly #caller: Caller;
  readonly #record: CallRecord;
  #isOver = false;
  #cleanUp: () => void = () => undefined;

  constructor(
    context: NetworkContext,
    process: SimProcess,
    endpoint: Endpoint,
    request: HttpRequest,
    caller: Caller,
    record: CallRecord,
  ) {
    this.#context = context;
    this.#process = process;
    this.#endpoint = endpoint;
    this.#request = request;
    this.#caller = caller;
    this.#record = record;
  }

  start(): void {
    const { signal, timeoutMs } = this.#request;
    const fault = this.#record.fault;
    if (signal?.aborted) {
      this.#fail(this.#isIam ? "refused" : "aborted");
      return;
    }
    if (fault?.kind === "Crash" && fault.when === "BeforeSend") {
      this.#crash("crashed before it was sent");
      return;
    }
    try {
      this.#request.beforeSending?.();
    } catch (cause) {
      this.#fail("refused", cause);
      return;
    }
    const onAbort = () => this.#fail("aborted");
    const stopTimer = this.#process.clock.setTimer(timeoutMs, () => this.#fail("timeout"));
    signal?.addEventListener("abort", onAbort, { once: true });
    this.#cleanUp = () => {
      stopTimer();
      signal?.removeEventListener("abort", onAbort);
    };
    this.#there(() => this.#arrive(fault));
  }

  get #isIam(): boolean {
    return this.#endpoint.name === "iam";
  }

  /** At the server. */
  #arrive(fault: CallFault | undefined): void {
    switch (fault?.kind) {
      case "Refuse":
        this.#answer(this.#refusal(fault));
        break;
      case "Intercept":
        this.#answer(intercepted(fault));
        break;
      case "Reset":
        if (fault.when === "AfterCommit") this.#commit();
        this.#back(() => this.#fail("network"));
        break;
      case "Silence":
        if (fault.when === "AfterCommit") this.#commit();
        break;
      case "LateCommit":
        this.#commitLate(fault);
        break;
      case "DoubleCommit":
        this.#commitTwice(fault);
        break;
      default:
        this.#finish(fault, this.#commit(fault?.kind === "Behind" ? fault.ms : undefined));
    }
  }

  #commitLate({ ms, status }: Extract<CallFault, { kind: "LateCommit" }>): void {
    if (status !== undefined) this.#answer(this.#refusal({ kind: "Refuse", status }));
    this.#commitAfter(ms);
  }

  #commitTwice({ ms, answer }: Extract<CallFault, { kind: "DoubleCommit" }>): void {
    const first = this.#commit();
    if (answer === "First") this.#answer(first);
    this.#commitAfter(ms, (second) => {
      if (answer === "Second") this.#answer(second);
    });
  }

  /** The server does it whether or not anybody still waits for the response. */
  #commitAfter(ms: number, then: (answer: Answer) => void = () => undefined): void {
    const { faults, kernel } = this.#context;
    const done = faults.defer();
    this.#record.isPutOff = true;
    const commit = this.#endpoint.accept(this.#request);
    kernel.schedule(ms, () => {
      this.#noteCommit();
      kernel.note(`${describeCall(this.#record)}, done ${ms} ms later`);
      const answer = commit();
      done();
      then(answer);
    });
  }

  #finish(fault: CallFault | undefined, answer: Answer): void {
    switch (fault?.kind) {
      case "Crash":
        if (fault.when === "AfterCommit") this.#crash("crashed after it was done");
        else this.#answer(answer);
        break;
      case "Huge":
        this.#back(() => this.#fail("tooLarge"));
        break;
      case "Answer":
        this.#answer(altered(fault, answer));
        break;
      case "Garble":
        if (fault.how === "Truncated") this.#back(() => this.#fail("network"));
        else this.#answer({ ...answer, body: GARBLED[fault.how] });
        break;
      case "Pause":
        if (fault.when === "AfterCommit") this.#process.pauseFor(fault.ms);
        this.#answer(answer);
        break;
      default:
        this.#answer(answer);
    }
  }

  #commit(behindMs?: number): Answer {
    this.#noteCommit();
    return this.#endpoint.handle(this.#request, behindMs);
  }

  #noteCommit(): void {
    this.#record.revision = this.#endpoint.revision();
    this.#record.committedAt = this.#context.kernel.elapsed;
  }

  #answer(answer: Answer): void {
    this.#back(() => {
      const { fault } = this.#record;
      this.#succeed(answer);
      if (fault?.kind !== "Crash") return;
      // What the answer sets off in memory happens; nothing of it leaves the process.
      this.#context.kernel.schedule(0, () => this.#process.crash());
    });
  }

  #succeed({ status, headers, body }: Answer): void {
    const bytes = Buffer.from(body);
    if (bytes.length > this.#request.maxBytes) this.#fail("tooLarge");
    else this.#end(String(status), () => this.#caller.resolve({ status, headers, body: bytes }));
  }

  #fail(failure: HttpError["failure"], cause?: unknown): void {
    const error = new HttpError(failure, `simulated: ${failure}`, { cause });
    this.#end(failure, () => this.#caller.reject(error));
  }

  #crash(why: string): void {
    this.#end(why, () => this.#process.crash());
  }

  #end(outcome: string, tell: () => void): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#cleanUp();
    this.#record.outcome = outcome;
    this.#context.kernel.note(describeCall(this.#record));
    if (this.#process.alive) tell();
  }

  #refusal(fault: Refusal): Answer {
    const { status, headers, body } = refusal(fault);
    return { status, headers, body: this.#isIam ? IAM_REFUSAL : JSON.stringify(body) };
  }

  /** To the process, which may be paused. */
  #back(run: () => void): void {
    this.#after(
      () => this.#process.deliver(run),
      () => this.#label(this.#process.name, "answer to"),
    );
  }

  #there(run: () => void): void {
    this.#after(run, () => this.#label(this.#endpoint.name, "call"));
  }

  #label(to: string, what: string): Label {
    const { ordinal, operation, target, process } = this.#record;
    const name = `${what} ${process} ${operation} ${target} (${ordinal})`;
    const isRead = to === this.#endpoint.name && !this.#record.mutating;
    return { to, name, isRead, call: this.#record };
  }

  #after(run: () => void, label: () => Label): void {
    const { kernel } = this.#context;
    const [least, most] = this.#endpoint.latency;
    const { fault } = this.#record;
    const extra = fault?.kind === "Slow" ? fault.ms : 0;
    kernel.schedule(extra + least + kernel.random.fraction() * (most - least), run, label);
  }
}

const IAM_REFUSAL = JSON.stringify({ message: "injected", requestId: "request-0", result: {} });
