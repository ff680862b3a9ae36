// Builds the package where it is installed from its folder: npm links a folder without its development packages, of
// which the compiler is one.
import { execSync } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

const cwd = fileURLToPath(new URL(".", import.meta.url));
if (!existsSync(`${cwd}/node_modules/typescript`)) {
  execSync("npm ci --include=dev --ignore-scripts --no-audit --no-fund", { cwd, stdio: "inherit" });
}
execSync("npx --no-install tsc", { cwd, stdio: "inherit" });
