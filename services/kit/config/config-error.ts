/** The installation's configuration cannot be used; the message says where and why, and quotes no secret. */
export class ConfigError extends Error {
  override readonly name = "ConfigError";
}
