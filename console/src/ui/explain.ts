import { Code, ConnectError } from "@connectrpc/connect";

/** Explained is an error in the words of the page. */
export interface Explained {
  code: Code;
  title: string;
  message: string;
  /** What is wrong with which field of the request, unless the message says it all. */
  fields: Violation[];
  /** What is wrong with which field of the request. */
  violations: Violation[];
}

/** Violation is what is wrong with a field of a request. */
export interface Violation {
  field: string;
  description: string;
}

const titles: Partial<Record<Code, string>> = {
  [Code.PermissionDenied]: "You may not do this",
  [Code.Unauthenticated]: "The session has ended",
  [Code.NotFound]: "Not found",
  [Code.AlreadyExists]: "This name is taken",
  [Code.InvalidArgument]: "This does not work as written",
  [Code.ResourceExhausted]: "A limit is reached",
  [Code.Unavailable]: "The service does not answer",
  [Code.DeadlineExceeded]: "This took too long",
  [Code.FailedPrecondition]: "Not possible now",
  [Code.Aborted]: "Somebody else changed it at the same time",
};

interface BadRequest {
  fieldViolations?: { field?: string; description?: string }[];
}

/** explain returns the title, message and fields of an error of a call. */
export function explain(error: unknown): Explained {
  const connect = ConnectError.from(error);
  const network = connect.code === Code.Unknown && /fetch|network|load failed/i.test(connect.rawMessage);
  if (network) {
    return { code: Code.Unavailable, title: "The service does not answer", message: "The page tries again by itself. Is the service running?", fields: [], violations: [] };
  }
  const fields = connect.details.flatMap((detail) => {
    if (!("debug" in detail) || !("type" in detail) || detail.type !== "google.rpc.BadRequest") return [];
    const bad = detail.debug as BadRequest | undefined;
    return (bad?.fieldViolations ?? []).map((v) => ({ field: v.field ?? "", description: v.description ?? "" }));
  });
  const single = fields.length === 1 && connect.rawMessage.includes(fields[0]!.description);
  return {
    code: connect.code,
    title: titles[connect.code] ?? "This did not work",
    message: connect.rawMessage,
    fields: single ? [] : fields,
    violations: fields,
  };
}
