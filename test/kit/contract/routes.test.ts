import type { DescService } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";

import { ObjectStorageService } from "../../../gen/quartet/objectstorage/v1/object_storage_service_pb.ts";
import {
  DuplicateRouteService,
  LostLabelService,
  NoPlaceService,
  TwoPlacesService,
} from "../../../gen/quartet/test/gateway/v1/flawed_service_pb.ts";
import { NoticeService } from "../../../gen/quartet/test/gateway/v1/notice_service_pb.ts";
import { ReaderService } from "../../../gen/quartet/test/gateway/v1/reader_service_pb.ts";
import { ShelfService } from "../../../gen/quartet/test/gateway/v1/shelf_service_pb.ts";
import { checkRoutes, ContractError } from "../../../services/kit/contract/routes.ts";

const problemsOf = (...services: DescService[]): readonly string[] => {
  try {
    checkRoutes(services);
    return [];
  } catch (thrown) {
    return thrown instanceof ContractError ? thrown.problems : [String(thrown)];
  }
};

describe("the start-up check", () => {
  test("services with distinguishable operations pass, also with a superseded twin", () => {
    expect(problemsOf(ShelfService, ReaderService, NoticeService)).toEqual([]);
  });

  test("two methods with one route are refused, whatever their labels are called", () => {
    expect(problemsOf(DuplicateRouteService)).toEqual([
      "DuplicateRouteService.GetOther has the route of GetThing: GET /things/{}? []",
    ]);
  });

  test("a member that HTTP cannot hold is refused", () => {
    expect(problemsOf(NoPlaceService)).toEqual([
      "NoPlaceService.GetPlace has no location for nowhere: GET has no body",
      "NoPlaceService.PutPlace has no location for PutPlaceRequest.beside: the body is PutPlaceRequest.document alone",
    ]);
  });

  test("a label without a field and a field without a label are refused", () => {
    expect(problemsOf(LostLabelService)).toEqual([
      "LostLabelService.GetLabel names a label {Here} that no field fills",
      "LostLabelService.GetLabel has a label field there that its path /labels/{Here} does not name",
    ]);
  });

  test("a member with two places is refused", () => {
    expect(problemsOf(TwoPlacesService)).toEqual([
      "TwoPlacesService.GetTwice declares 2 locations for GetTwiceRequest.page: header x-svc-page, query page",
    ]);
  });

  test("two services that each receive the requests for no API are refused", () => {
    expect(problemsOf(ShelfService, ObjectStorageService)).toEqual([
      "API object-storage is declared by more than one service",
      "ShelfService and ObjectStorageService are each the fallback of requests that name no API",
    ]);
  });

  test("two services with one API name are refused, and all problems are reported at once", () => {
    expect(problemsOf(TwoPlacesService, LostLabelService, TwoPlacesService)).toHaveLength(5);
  });
});
