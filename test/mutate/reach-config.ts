import { mergeConfig } from "vitest/config";

import base from "../../vitest.config.ts";

/** The tests with the recording of what they run. */
export default mergeConfig(base, { test: { setupFiles: ["test/mutate/reach-setup.ts"] } });
