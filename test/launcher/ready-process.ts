/** A process that says that it is ready, with its process id as its address, and stays until it is killed. */
process.send?.({ ready: true, urls: { pid: String(process.pid) } });
setInterval(() => undefined, 60_000);
