/** What a path inside the API of object storage names, as its refusals of a method tell it. */
export const resourceType = (path: string): "SERVICE" | "BUCKET" | "OBJECT" => {
  const [, bucket = "", ...key] = path.split("/");
  if (bucket === "") return "SERVICE";
  return key.join("/") === "" ? "BUCKET" : "OBJECT";
};
