/** Where things are in a simulated cluster. */
export const OPERATOR_NAMESPACE = "iam-operator-system";
/** The namespace of the scenarios' objects. */
export const NAMESPACE = "team-a";
