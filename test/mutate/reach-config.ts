import { defineConfig } from "vitest/config";

import { settings } from "../../vitest.config.ts";

/** The tests, each file in a process of its own, with the recording of what they run. */
export default defineConfig({
  test: { ...settings, include: ["test/**/*.test.ts"], setupFiles: ["test/mutate/reach-setup.ts"] },
});
