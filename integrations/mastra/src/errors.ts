import { ErrorCategory, ErrorDomain, MastraError } from "@mastra/core/error";
import { type ErrorCode, RagdError } from "@ragd/client";

/** The codes of errors that the caller can mend. */
const mistakes = new Set<ErrorCode>([
  "invalid_argument",
  "not_found",
  "already_exists",
  "failed_precondition",
  "permission_denied",
  "unauthenticated",
  "out_of_range",
]);

/** errorId returns the id of an error of an operation, such as MASTRA_VECTOR_RAGD_QUERY_FAILED. */
function errorId(operation: string, reason: string): Uppercase<string> {
  return `MASTRA_VECTOR_RAGD_${operation}_${reason}`.toUpperCase() as Uppercase<string>;
}

/** invalid returns the error for arguments that the store refuses by itself. */
export function invalid(operation: string, text: string): MastraError {
  return new MastraError({
    id: errorId(operation, "INVALID_ARGUMENT"),
    text,
    domain: ErrorDomain.MASTRA_VECTOR,
    category: ErrorCategory.USER,
  });
}

/** failed returns the MastraError for an error of a call, with the service's message and code. */
export function failed(operation: string, indexName: string | undefined, error: unknown): MastraError {
  if (error instanceof MastraError) return error;
  const cause = RagdError.from(error);
  return new MastraError(
    {
      id: errorId(operation, cause.code === "invalid_argument" ? "INVALID_ARGUMENT" : "FAILED"),
      text: cause.message,
      domain: ErrorDomain.MASTRA_VECTOR,
      category: mistakes.has(cause.code) ? ErrorCategory.USER : ErrorCategory.THIRD_PARTY,
      details: { code: cause.code, ...(indexName !== undefined && { indexName }) },
    },
    cause,
  );
}
