/**
 * What a file below src/ may import. Checked by scripts/check-imports.ts; a line that nothing uses is an error too, so
 * the table always says what is true.
 *
 * A file belongs to the first layer that it fits. `*` stands for a name, `**` for a path, `{a,b}` for one of several,
 * and `<kind>` for a folder's name: the same one in `files` and in what they import. What `files` fits may always be
 * imported, so a folder may import the folders in it.
 */
export interface Layer {
  readonly files: string;
  /** The reason, which a refusal states. */
  readonly because: string;
  /** Files below src/, and packages. */
  readonly imports: readonly string[];
  /** What they import with `import type` only. */
  readonly types?: readonly string[];
  /** The only files outside the layer that may import it, even if their own layer permits it. Absent: any file. */
  readonly importedBy?: readonly string[];
}

export const LAYERS: readonly Layer[] = [
  {
    files: "main.ts",
    because: "it refuses an older Node, so it stays readable for old versions",
    imports: ["app/main.ts", "util/require-node.ts"],
  },
  {
    files: "util/**",
    because: "it is below everything",
    imports: ["croner", "node:{crypto,net,timers/promises,url,util}"],
  },
  {
    files: "api/**",
    because: "our kinds are data, without I/O",
    imports: ["util/**", "zod", "node:util"],
  },
  {
    files: "http/**",
    because: "it is HTTP alone",
    imports: ["util/**", "undici", "node:{crypto,dns,net,tls,zlib}"],
  },
  {
    files: "console/**",
    because: "it is the console's API, which knows nothing of Kubernetes",
    imports: ["http/**", "util/**", "undici", "zod"],
  },
  {
    files: "kube/config/config.ts",
    because: "only this file loads @kubernetes/client-node",
    imports: ["kube/config/*", "util/**", "@kubernetes/client-node", "node:{fs,path,tls}"],
  },
  {
    files: "kube/**",
    because: "it is the Kubernetes client, which knows neither our kinds nor the console",
    imports: ["http/**", "util/**", "undici", "node:{fs/promises,tls,util}"],
  },
  {
    files: "observability/**",
    because: "it is handed in as a parameter and knows only what it measures by name",
    imports: ["util/**", "pino", "prom-client", "@opentelemetry/*", "node:*", "node:*/promises"],
  },
  {
    files: "connections/**",
    because: "what a connection needs is computed from data, for the operator and for the plugin",
    imports: [
      "api/**",
      "http/tls-settings.ts",
      "kube/{match-labels,resource}.ts",
      "util/**",
      "node:crypto",
    ],
    types: ["console/{model,exchange/exchange}.ts", "kube/resource-types.ts"],
  },
  {
    files: "runtime/**",
    because: "the queue knows neither a kind nor the console",
    imports: ["kube/resource.ts", "util/**", "node:util"],
    types: ["kube/store/store.ts", "observability/metrics.ts"],
  },
  {
    files: "reconciler/rules/**",
    because: "a decision is pure: what it needs comes in as data",
    imports: [
      "api/**",
      "reconciler/errors.ts",
      "{console,kube}/errors.ts",
      "util/**",
      "node:crypto",
    ],
    types: ["kube/{resource,events/event-recorder}.ts", "runtime/result.ts"],
  },
  {
    files: "reconciler/**",
    because: "the loop of all kinds knows no kind, and reaches both servers through the Context",
    imports: [
      "api/**",
      "console/{endpoints,model,client/reader}.ts",
      "kube/{errors,resource,client/finalizer,client/reader}.ts",
      "util/**",
      "node:util",
    ],
    types: [
      "console/client/client.ts",
      "kube/{client/client,events/event-recorder,store/store,store/store-index}.ts",
      "observability/metrics.ts",
      "runtime/{result,watch}.ts",
    ],
  },
  {
    files: "kinds/<kind>/secret/**",
    because: "what a Secret holds is computed from data",
    imports: ["api/**", "util/**", "zod", "node:crypto"],
    types: ["resources/resource-types.ts", "console/model.ts"],
  },
  {
    files: "kinds/<kind>/rules/**",
    because: "a decision is pure: what it needs comes in as data, observed before",
    imports: [
      "api/**",
      "accounts/**",
      "kinds/<kind>/secret/**",
      "reconciler/context.ts",
      "resources/**",
      "reconciler/rules/**",
      "connections/**",
      "console/{errors,evidence}.ts",
      "kube/{errors,resource}.ts",
      "util/**",
      "node:{crypto,util}",
    ],
    types: [
      "consumers/board.ts",
      "kinds/<kind>/*.ts",
      "reconciler/{clock-reading,effects,run-context}.ts",
      "console/model.ts",
    ],
  },
  {
    files: "kinds/<kind>/**",
    because:
      "a kind knows no other kind and reaches both servers through its Context; what two kinds know of an account is in src/accounts",
    imports: [
      "api/**",
      "accounts/**",
      "consumers/board.ts",
      "reconciler/*.ts",
      "reconciler/plan/{invented,lines}.ts",
      "reconciler/rules/**",
      "resources/**",
      "connections/**",
      "console/{errors,evidence,model,client/wrap-calls}.ts",
      "kube/{errors,resource}.ts",
      "runtime/{predicates,watch}.ts",
      "util/**",
      "node:{crypto,util}",
    ],
    types: [
      "reconciler/plan/plan-object.ts",
      "console/client/{client,reader}.ts",
      "kube/store/store.ts",
      "observability/metrics.ts",
      "runtime/result.ts",
      "zod",
    ],
  },
  {
    files: "kinds/kinds.ts",
    because: "it is the one list of all kinds, which only the composition root reads",
    imports: ["kinds/*/module.ts"],
    types: ["reconciler/kind-module.ts", "kube/resource.ts"],
    importedBy: ["app/**"],
  },
  {
    files: "accounts/**",
    because: "what several kinds know of an account knows none of them",
    imports: [
      "api/**",
      "connections/**",
      "console/{errors,evidence}.ts",
      "kube/resource.ts",
      "resources/**",
      "util/**",
    ],
    types: ["reconciler/context.ts", "console/{model,client/client,client/reader}.ts"],
  },
  {
    files: "resources/**",
    because: "how objects are typed, indexed and found knows none of their kinds",
    imports: [
      "api/**",
      "connections/**",
      "kube/{resource,resource-types}.ts",
      "runtime/watch.ts",
      "util/**",
      "node:{crypto,util}",
    ],
    types: ["reconciler/context.ts"],
  },
  {
    files: "consumers/board.ts",
    because: "it is all that kinds know of the Pods that use their Secrets",
    imports: [],
  },
  {
    files: "consumers/rules/**",
    because: "a decision is pure: what it needs comes in as data",
    imports: ["api/**", "kube/{match-labels,resource-types,secret-uses}.ts", "util/**"],
    types: ["kube/resource.ts"],
  },
  {
    files: "consumers/**",
    because:
      "it works from the status of ApiKeys and knows neither a kind's folder nor the console",
    imports: [
      "api/**",
      "resources/resource-types.ts",
      "reconciler/{errors,settle-all}.ts",
      "reconciler/rules/**",
      "kube/{errors,match-labels,resource,resource-types}.ts",
      "runtime/predicates.ts",
      "util/**",
      "node:util",
    ],
    types: ["reconciler/context.ts", "kube/{client/client,store/store}.ts", "runtime/result.ts"],
  },
  {
    files: "app/**",
    because: "the composition root knows every part, except the plugin",
    imports: [
      "{api,connections,console,consumers,http,kinds,kube,observability,reconciler,resources,runtime,util}/**",
      "prom-client",
      "zod",
      "node:{crypto,dns/promises,fs,net,os,perf_hooks,util,v8}",
    ],
  },
  {
    files: "kubectl-iam/view/**",
    because: "a view is pure: what it shows comes in as data",
    imports: ["api/**", "kubectl-iam/{cli,cluster}/**", "util/**", "js-yaml", "node:util"],
  },
  {
    files: "kubectl-iam/cli/**",
    because: "only this folder knows the command line; commands get their options and an Io",
    imports: [
      "api/reasons/sections.ts",
      "{console,kube}/errors.ts",
      "kubectl-iam/**",
      "util/**",
      "commander",
      "node:{path,readline/promises,stream,stream/consumers}",
    ],
  },
  {
    files: "kubectl-iam/**",
    because:
      "the plugin knows the API, both clients and the utilities, and of the operator only how it plans and judges an account",
    imports: [
      "{api,connections,console,http,kube,util}/**",
      "accounts/key-accounts.ts",
      "accounts/ownership.ts",
      "accounts/recorded-policies.ts",
      "app/version.ts",
      "app/plan/plan-objects.ts",
      "js-yaml",
      "zod",
      "node:{child_process,fs,fs/promises,module,path,tls,util}",
    ],
  },
];
