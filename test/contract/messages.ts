import type { DescMessage, DescService } from "@bufbuild/protobuf";

/** Every message that requests and answers of a service are made of, once, but for those of the protocol itself. */
export const messagesOf = (service: DescService): DescMessage[] => {
  const found = new Set<DescMessage>();
  const visit = (message: DescMessage): void => {
    if (found.has(message) || message.typeName.startsWith("google.")) return;
    found.add(message);
    for (const field of message.fields) if (field.message !== undefined) visit(field.message);
  };
  for (const method of service.methods) {
    visit(method.input);
    visit(method.output);
  }
  return [...found];
};
