import { Code, ConnectError, type Interceptor } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-web";
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

/** interceptors name the tenant and notice the end of the session. */
export const interceptors = [tenantHeader, watchSession];

/** transport calls the public API of the service that served the page; the browser sends the session's cookie. */
export const transport = createConnectTransport({
  baseUrl: window.location.origin,
  interceptors,
});
