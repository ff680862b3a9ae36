export { Client, type ClientOptions } from "./client.js";
export { EvenhandError } from "./errors.js";
export {
  type Decision,
  type Happened,
  type Label,
  type Reward,
  type Shown,
  Study,
  type Shares,
  type Told,
  propensity,
} from "./study.js";
export type { components, paths } from "./service.js";
