import { randomBytes } from "node:crypto";

/** Secrets that stand nowhere but where they were planted. */
export interface PlantedSecrets {
  /** Makes a secret for a place. */
  plant(place: string): string;
  /** Takes note of a secret that somebody else made; gives it back. */
  note(place: string, secret: string): string;
  get(place: string): string | undefined;
  /** The places whose secrets stand in a text, in any form in which they travel. */
  leaksOf(text: string): string[];
}

export const plantedSecrets = (): PlantedSecrets => {
  const secrets = new Map<string, string>();
  const note = (place: string, secret: string): string => {
    if (secret === "") throw new Error(`there is no secret for ${place}`);
    secrets.set(place, secret);
    return secret;
  };
  return {
    plant: (place) => note(place, `hush${randomBytes(9).toString("hex")}`),
    note,
    get: (place) => secrets.get(place),
    leaksOf: (text) =>
      [...secrets].filter(([, secret]) => formsOf(secret).some((form) => text.includes(form))).map(([place]) => place),
  };
};

/** As it is, in a URL, in hexadecimal, and in base64 whatever stands around it. */
const formsOf = (secret: string): string[] => {
  const encoded = [0, 1, 2].map((shift) =>
    Buffer.from("x".repeat(shift) + secret)
      .toString("base64")
      .slice(shift === 0 ? 0 : 4, -4),
  );
  return [secret, encodeURIComponent(secret), Buffer.from(secret).toString("hex"), ...encoded];
};
