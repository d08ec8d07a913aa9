/** A process that reports nothing, and stays until it is killed. */
setInterval(() => undefined, 60_000);
