import type { Store } from "../../kit/store/store.ts";
import { hasBucket } from "../store/bucket.ts";
import type { BucketPlace, OtherRegions } from "./other-regions.ts";

/** Where a bucket is that is not here; undefined: it is here, or in none of the regions that could be asked. */
export const findElsewhere = async (
  { store, regions }: { readonly store: Store; readonly regions: Pick<OtherRegions, "exist" | "find"> },
  name: string,
): Promise<BucketPlace | undefined> => {
  if (!regions.exist || (await store.read((reader) => hasBucket(reader, name)))) return undefined;
  return regions.find(name);
};
