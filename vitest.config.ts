import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    exclude: ["test/polyglot/**", "node_modules/**"],
    globalSetup: "test/support/leaves-nothing.ts",
    pool: "forks",
    maxWorkers: 2,
    // These end what hangs; none of them is near what a test takes, however busy the machine is.
    expect: { poll: { timeout: 60_000 } },
    testTimeout: 120_000,
    hookTimeout: 120_000,
  },
});
