import { Code, ConnectError } from "@connectrpc/connect";
import { BadRequestSchema, RetryInfoSchema } from "./gen/google/rpc/error_details_pb.js";
import type { Job } from "./gen/ragd/v1/document_pb.js";

/** The code of an error, as the Connect protocol names it. */
export type ErrorCode =
  | "canceled"
  | "unknown"
  | "invalid_argument"
  | "deadline_exceeded"
  | "not_found"
  | "already_exists"
  | "permission_denied"
  | "resource_exhausted"
  | "failed_precondition"
  | "aborted"
  | "out_of_range"
  | "unimplemented"
  | "internal"
  | "unavailable"
  | "data_loss"
  | "unauthenticated";

const names: Record<Code, ErrorCode> = {
  [Code.Canceled]: "canceled",
  [Code.Unknown]: "unknown",
  [Code.InvalidArgument]: "invalid_argument",
  [Code.DeadlineExceeded]: "deadline_exceeded",
  [Code.NotFound]: "not_found",
  [Code.AlreadyExists]: "already_exists",
  [Code.PermissionDenied]: "permission_denied",
  [Code.ResourceExhausted]: "resource_exhausted",
  [Code.FailedPrecondition]: "failed_precondition",
  [Code.Aborted]: "aborted",
  [Code.OutOfRange]: "out_of_range",
  [Code.Unimplemented]: "unimplemented",
  [Code.Internal]: "internal",
  [Code.Unavailable]: "unavailable",
  [Code.DataLoss]: "data_loss",
  [Code.Unauthenticated]: "unauthenticated",
};

/** A field of a request that the service refused, and why. */
export interface FieldViolation {
  field: string;
  description: string;
}

/** What a RagdError carries beside its message. */
export interface RagdErrorOptions {
  code: ErrorCode;
  fieldViolations?: FieldViolation[];
  retryAfter?: number;
  requestId?: string;
  cause?: unknown;
}

/** RagdError is an error of a call. Its message names the field, the limit and what to do. */
export class RagdError extends Error {
  /** Which kind of error it is. docs/reference/api.md says when each occurs. */
  readonly code: ErrorCode;
  /** The fields that are wrong, of an invalid_argument. */
  readonly fieldViolations: FieldViolation[];
  /** Seconds after which the service asks to try again; undefined if it does not say. */
  readonly retryAfter: number | undefined;
  /** The id with which the service's log names the request. */
  readonly requestId: string | undefined;

  constructor(message: string, options: RagdErrorOptions) {
    super(message, { cause: options.cause });
    this.name = "RagdError";
    this.code = options.code;
    this.fieldViolations = options.fieldViolations ?? [];
    this.retryAfter = options.retryAfter;
    this.requestId = options.requestId;
  }

  /** from returns the RagdError for what a call of a generated client has thrown. */
  static from(error: unknown): RagdError {
    if (error instanceof RagdError) return error;
    const connect = ConnectError.from(error);
    const brokeOff = connect.code === Code.Unknown && connect.cause instanceof TypeError; // an error of fetch
    return new RagdError(connect.rawMessage, {
      code: brokeOff ? "unavailable" : (names[connect.code] ?? "unknown"),
      fieldViolations: connect
        .findDetails(BadRequestSchema)
        .flatMap((bad) => bad.fieldViolations.map(({ field, description }) => ({ field, description }))),
      retryAfter: retryAfterOf(connect),
      requestId: connect.metadata.get("X-Request-Id") ?? undefined,
      cause: error,
    });
  }
}

/** JobError says that a job, such as the processing of an upload, has failed or was cancelled. */
export class JobError extends RagdError {
  /** The job when it ended. */
  readonly job: Job;

  constructor(message: string, job: Job) {
    super(message, { code: job.status === "cancelled" ? "canceled" : "failed_precondition" });
    this.name = "JobError";
    this.job = job;
  }
}

/** invalid returns the error for an argument that this package refuses by itself. */
export function invalid(field: string, description: string): RagdError {
  return new RagdError(`${field}: ${description}`, { code: "invalid_argument", fieldViolations: [{ field, description }] });
}

/** retryAfterOf returns the seconds that the service asks to wait, if it does. */
function retryAfterOf(error: ConnectError): number | undefined {
  const [info] = error.findDetails(RetryInfoSchema);
  if (info?.retryDelay) return Number(info.retryDelay.seconds) + info.retryDelay.nanos / 1e9;
  const header = error.metadata.get("Retry-After");
  if (header === null) return undefined;
  const seconds = Number(header);
  if (Number.isFinite(seconds)) return Math.max(0, seconds);
  const date = Date.parse(header);
  return Number.isNaN(date) ? undefined : Math.max(0, (date - Date.now()) / 1000);
}

/** thrown returns what to throw for an error of a call: the reason of the signal if that has ended the call. */
export function thrown(error: unknown, signal?: AbortSignal): unknown {
  return signal?.aborted ? signal.reason : RagdError.from(error);
}
