/**
 * Search. It refuses, in this order: (1) more values than one search may have, (2) a page token of another search, (3)
 * a domain that does not exist. It reads one consistent state, range by range in the order of identifiers, and decides
 * each range from the index alone; only profiles that are returned are decrypted.
 */
import type { SearchProfilesRequest } from "../../../gen/quartet/customerprofile/v1/customer_profile_service_pb.ts";
import { ErrorReason } from "../../../gen/quartet/customerprofile/v1/error_reason_pb.ts";
import type { Profile } from "../../../gen/quartet/customerprofile/v1/profile_pb.ts";
import { Turn } from "../../kit/clock/turn.ts";
import type { Page } from "../../kit/page-tokens/pages.ts";
import type { Reader } from "../../kit/store/transaction.ts";
import type { Application, Operation } from "../application.ts";
import { idBytes, idText } from "../domain/identifier.ts";
import { valuesIn } from "../domain/profile-state.ts";
import { profileOf } from "../domain/profile-values.ts";
import type { SearchClause, SearchHit } from "../domain/search.ts";
import { SearchRange } from "../domain/search.ts";
import { fault } from "../faults.ts";
import { limits } from "../limits.ts";
import type { OpenDomain } from "../store/domain.ts";
import { openDomain } from "../store/domain.ts";
import type { StoredProfile } from "../store/profile.ts";
import { findProfile } from "../store/profile.ts";
import { listHits } from "../store/search.ts";

/** Finds profiles by keys. A page may be short, even empty, without being the last. */
export const searchProfiles: Operation<"searchProfiles"> = async (request, context) => {
  const { app, access } = context;
  const clauses = clausesOf(request);
  const operator = request.logicalOperator ?? "OR";
  const page = app.pages.open(context, request, [request.domainName, operator, JSON.stringify(clauses)]);

  return app.store.read(async (reader) => {
    const domain = await openDomain(reader, app.keyring, access.accountId, request.domainName);
    return searchPage(reader, app, domain, clauses, operator === "AND", page);
  });
};

const clausesOf = (request: SearchProfilesRequest): readonly SearchClause[] => {
  const clauses = [request, ...request.additionalSearchKeys].map(({ keyName, values }) => ({
    keyName,
    values: [...new Set(values)],
  }));
  const valueCount = clauses.reduce((sum, clause) => sum + clause.values.length, 0);
  if (valueCount > limits.searchValuesMax)
    throw fault(ErrorReason.TOO_MANY_SEARCH_VALUES, { limit: String(limits.searchValuesMax) });
  return clauses;
};

const searchPage = async (
  reader: Reader,
  app: Application,
  domain: OpenDomain,
  clauses: readonly SearchClause[],
  isEveryClauseNeeded: boolean,
  page: Page,
): Promise<{ items: Profile[]; nextToken?: string }> => {
  const nowMs = app.clock.now();
  const turn = new Turn();
  const items: Profile[] = [];
  let bytes = 0;
  let after = page.after === undefined ? undefined : idBytes(page.after);
  let listCount = 0;
  for (let windows = 0; windows < limits.searchWindowsMax && listCount < limits.searchListsMax; windows += 1) {
    const lists = await listHits(reader, domain, clauses, isEveryClauseNeeded, { after, limit: page.lookFor });
    listCount += lists.length;
    const range = new SearchRange(clauses, isEveryClauseNeeded);
    for (const list of lists) {
      if (turn.isOver) await turn.next();
      range.add(list);
    }
    for (const hit of range.hits()) {
      if (after !== undefined && (items.length === page.itemsMax || bytes >= limits.pageBytesMax))
        return { items, nextToken: page.tokenOf(idText(after)) };
      after = hit.profileId;
      const found = await findProfile(reader, domain, hit.profileId, nowMs);
      if (found === undefined) continue;
      items.push(profileOfHit(found, hit));
      bytes += found.record.content.byteLength + lengthOf(hit);
    }
    if (range.through === undefined) return { items };
    after = range.through;
  }
  return { items, ...(after === undefined ? {} : { nextToken: page.tokenOf(idText(after)) }) };
};

/** The characters of the values that a hit names: spellings of one number may find a profile a thousand times. */
const lengthOf = ({ foundBy }: SearchHit): number =>
  foundBy.reduce((sum, { values }) => values.reduce((length, value) => length + value.length, sum), 0);

const profileOfHit = (found: StoredProfile, { profileId, foundBy }: SearchHit): Profile => {
  const profile = profileOf(idText(profileId), valuesIn(found.state));
  for (const { keyName, values } of foundBy)
    profile.foundByItems.push({
      $typeName: "quartet.customerprofile.v1.FoundByKeyValue",
      keyName,
      values: [...values],
    });
  return profile;
};
