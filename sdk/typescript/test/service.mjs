// What the tests share: clients of the service, and indexes with names of their own.
import { createServer } from "node:http";
import { Ragd } from "@ragd/client";
import { TenantService } from "@ragd/client/api";

export const url = process.env.RAGD_SERVER;
const apiKey = process.env.RAGD_API_KEY;
const operatorKey = process.env.RAGD_OPERATOR_KEY;
if (!url || !apiKey || !operatorKey) throw new Error("RAGD_SERVER, RAGD_API_KEY and RAGD_OPERATOR_KEY must name a service");

/** connect returns a client with the tenant's key. */
export const connect = (options) => new Ragd({ url, apiKey, ...options });

/** otherTenant makes a tenant and returns a client of the operator that acts for it. */
export async function otherTenant(t) {
  const operator = new Ragd({ url, apiKey: operatorKey });
  const tenantId = `other-${crypto.randomUUID().slice(0, 8)}`;
  await operator.rpc(TenantService).createTenant({ tenantId });
  t.after(() => operator.rpc(TenantService).deleteTenant({ tenantId }));
  return new Ragd({ url, apiKey: operatorKey, tenant: tenantId });
}

/**
 * newIndex creates an index that is dropped when the test ends. Its name has letters alone: a question that names the
 * index would find the numbers in it.
 */
export async function newIndex(t, client = connect()) {
  const name = crypto.randomUUID().slice(0, 8).replace(/\d/g, (digit) => "ghijklmnop"[digit]);
  const index = client.index(`ts-${name}`);
  await index.create();
  t.after(() => index.drop());
  return index;
}

/**
 * proxy returns the address of a server in front of the service. respond may answer a request itself; if
 * it returns false the service answers. requests has the paths of all.
 */
export async function proxy(t, respond) {
  const requests = [];
  const server = createServer(async (request, response) => {
    requests.push(request.url);
    const body = [];
    for await (const piece of request) body.push(piece);
    if (await respond(request, response, requests.length)) return;
    const { host: _, connection: __, "content-length": ___, "transfer-encoding": ____, ...headers } = request.headers;
    const answer = await fetch(url + request.url, { method: request.method, headers, body: Buffer.concat(body) });
    response.writeHead(answer.status, Object.fromEntries([...answer.headers].filter(([name]) => !["content-encoding", "content-length", "transfer-encoding"].includes(name))));
    response.end(Buffer.from(await answer.arrayBuffer()));
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${server.address().port}`, requests };
}
