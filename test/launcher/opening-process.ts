// Run by the test of the supervisor. Reports that it is opening its data until the file exists that its argument names,
// and then that it is ready.
import { existsSync } from "node:fs";

const path = process.argv[2] ?? "";
const opening = setInterval(() => {
  if (!existsSync(path)) {
    process.send?.({ opening: true });
    return;
  }
  clearInterval(opening);
  process.send?.({ ready: true, urls: { pid: String(process.pid) } });
}, 5);
setInterval(() => undefined, 60_000);
