import { MethodOptions_IdempotencyLevel } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError, type Interceptor } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-web";
import { unheld } from "./queries";
import { chosenTenant } from "./tenant";

/** signedOut is sent to the window when a call was refused because the session has ended. */
export const signedOut = "ragd:signed-out";

/** tenantHeader names the tenant that an operator has chosen, unless the call names one itself. */
const tenantHeader: Interceptor = (next) => (request) => {
  const tenant = chosenTenant();
  if (tenant && !request.header.has("Ragd-Tenant")) request.header.set("Ragd-Tenant", tenant);
  return next(request);
};

const watchSession: Interceptor = (next) => async (request) => {
  try {
    return await next(request);
  } catch (error) {
    if (ConnectError.from(error).code === Code.Unauthenticated) window.dispatchEvent(new Event(signedOut));
    throw error;
  }
};

/** holding lets reads wait while they are held. */
const holding: Interceptor = (next) => async (request) => {
  if (request.method.idempotency === MethodOptions_IdempotencyLevel.NO_SIDE_EFFECTS) {
    await unheld();
    request.signal.throwIfAborted(); // what asked is no longer shown
  }
  return next(request);
};

/** interceptors name the tenant, notice the end of the session and hold reads. */
export const interceptors = [tenantHeader, watchSession, holding];

/** transport calls the public API of the service that served the page; the browser sends the session's cookie. */
export const transport = createConnectTransport({
  baseUrl: window.location.origin,
  interceptors,
});
