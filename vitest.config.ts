import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    exclude: ["test/polyglot/**", "node_modules/**"],
    // Tests of time limits run on real sockets; on a shared machine that stalls for a second, one may fail that is right.
    retry: process.env["CI"] === undefined ? 0 : 1,
    pool: "forks",
    maxWorkers: 2,
    expect: { poll: { timeout: 10_000 } },
    testTimeout: 30_000,
    hookTimeout: 30_000,
  },
});
