/**
 * The expected behaviour of the service in its simplest form: profiles in a list, searched one by one. It knows no
 * index, no encryption and no pages.
 */
export interface ModelProfile {
  readonly id: string;
  fields: Record<string, string>;
  /** `name=value`. */
  keys: Set<string>;
}

export class ModelDomain {
  readonly profiles = new Map<string, ModelProfile>();

  create(id: string, fields: Record<string, string>): void {
    this.profiles.set(id, { id, fields: { ...fields }, keys: new Set() });
  }

  update(id: string, changes: Record<string, string>): void {
    const profile = this.#profile(id);
    const merged = { ...profile.fields, ...changes };
    profile.fields = Object.fromEntries(Object.entries(merged).filter(([, value]) => value !== ""));
  }

  delete(id: string): void {
    this.profiles.delete(id);
  }

  addKey(id: string, name: string, value: string): void {
    this.#profile(id).keys.add(`${name}=${value}`);
  }

  deleteKey(id: string, name: string, value: string): void {
    this.#profile(id).keys.delete(`${name}=${value}`);
  }

  /** Identifiers of the profiles that have any of the values of a key, ascending. */
  search(name: string, values: readonly string[]): string[] {
    return [...this.profiles.values()]
      .filter((profile) => values.some((value) => has(profile, name, value)))
      .map((profile) => profile.id)
      .toSorted();
  }

  #profile(id: string): ModelProfile {
    const profile = this.profiles.get(id);
    if (profile === undefined) throw new Error(`the model has no profile ${id}`);
    return profile;
  }
}

const fieldsOfKey: Readonly<Record<string, readonly string[]>> = {
  _account: ["accountNumber"],
  _phone: ["phoneNumber", "homePhoneNumber"],
  _email: ["emailAddress"],
};

// The random values hold only digits and lower-case letters, whose normal form is the value itself.
const has = (profile: ModelProfile, name: string, value: string): boolean => {
  if (profile.keys.has(`${name}=${value}`)) return true;
  if (name === "_fullName") {
    const names = [profile.fields["firstName"], profile.fields["lastName"]].filter((part) => part !== undefined);
    return names.length > 0 && names.join(" ") === value;
  }
  return (fieldsOfKey[name] ?? []).some((field) => profile.fields[field] === value);
};
