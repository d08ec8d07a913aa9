import { getOption } from "@bufbuild/protobuf";
import { expect, test } from "vitest";

import { EventBusService } from "../../../gen/quartet/eventbus/v1/event_bus_service_pb.ts";
import { api } from "../../../gen/quartet/traits/v1/api_pb.ts";
import { http_header, http_payload, wire_name } from "../../../gen/quartet/traits/v1/binding_pb.ts";
import { readOption } from "../../../services/kit/contract/options.ts";

test("an option that is set has its value, and one that is not set has its default", () => {
  const { input } = EventBusService.method.putEvents;
  for (const field of input.fields) {
    expect(readOption(field, wire_name)).toBe(getOption(field, wire_name));
    expect(readOption(field, http_header)).toBe(getOption(field, http_header));
    expect(readOption(field, http_payload)).toBe(false);
  }
  expect(readOption(EventBusService, api).name).toBe("event-bus");
});
