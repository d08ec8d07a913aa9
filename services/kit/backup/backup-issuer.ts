/** The name of the key pair that signs the calls of backups. */
export const backupIssuer = "backup";
