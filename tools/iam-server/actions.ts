/**
 * The action which each call needs. The API description names three of them only through the
 * identifiers it lists; the ones of the IAM service are this server's own.
 */
export const ACTIONS = {
  createServiceAccount: "svc:Iam.ServiceAccounts.CreateServiceAccount",
  listServiceAccounts: "svc:Iam.ServiceAccounts.ListServiceAccounts",
  getServiceAccount: "svc:Iam.ServiceAccounts.ReadServiceAccount",
  deleteServiceAccount: "svc:Iam.ServiceAccounts.DeleteServiceAccount",
  issueKey: "svc:Iam.ApiKeys.IssueApiKey",
  disableKey: "svc:Iam.ApiKeys.DisableApiKey",
  deleteKey: "svc:Iam.ApiKeys.DeleteApiKey",
  listPolicies: "svc:Iam.Policies.ListPolicies",
  evaluatePolicy: "svc:Iam.Policies.EvaluatePolicy",
  syncBindings: "svc:Iam.Bindings.SyncBindings",
  listBindings: "svc:Iam.Bindings.ListBindings",
  searchActions: "svc:Iam.ActionCatalog.SearchActions",
  listInstances: "svc:Compute.Instances.ListInstances",
  listResourceQuotas: "svc:SvcContainer.Policy.ListResourceQuotas",
} as const;
