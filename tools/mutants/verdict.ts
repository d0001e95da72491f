export type Verdict =
  /** By what: a line that names it, and from which it can be run first the next time. */
  | { readonly kind: "Noticed"; readonly test: string }
  | { readonly kind: "Missed" }
  | { readonly kind: "Broken"; readonly why: string };
