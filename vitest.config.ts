import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    exclude: ["test/e2e/**"],
    testTimeout: 30_000,
    hookTimeout: 60_000,
    teardownTimeout: 30_000,
    pool: "forks",
    coverage: { provider: "v8", include: ["src/**"], reporter: ["text-summary", "json-summary"] },
  },
});
