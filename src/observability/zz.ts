import { x } from "../kube/errors.ts"; export { x };
