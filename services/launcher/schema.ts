import { writeFileSync } from "node:fs";
import { join } from "node:path";

import { configSchema } from "../kit/config/config-file.ts";
import { installation } from "./settings.ts";

/** Writes `quartet.schema.json`, with which editors check a quartet.json: `npm run schema`. */
const path = join(import.meta.dirname, "quartet.schema.json");
writeFileSync(path, `${JSON.stringify(configSchema(installation, "Quartet's configuration file"), undefined, 2)}\n`);
