import { create, fromBinary, toBinary, type MessageInitShape } from "@bufbuild/protobuf";
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { endStreamFlag, endStreamFromJson } from "@connectrpc/connect/protocol-connect";
import { createConnectTransport } from "@connectrpc/connect-web";
import { interceptors } from "@/app/transport";
import { ArchiveService, ImportTenantRequestSchema, ImportTenantResponseSchema, type ImportOptionsSchema, type ImportTenantResponse } from "@/gen/ragd/v1/archive_pb";
import { save } from "@/ui/save";

const archives = createClient(ArchiveService, createConnectTransport({ baseUrl: window.location.origin, useBinaryFormat: true, interceptors }));

/** maxArchive is the largest archive that the page saves, in bytes: a browser keeps it in memory until it is complete. */
const maxArchive = 1 << 30;

/** piece is how much of an archive a message of an import has, in bytes. */
const piece = 512 << 10;

/** exportTenant saves everything of a tenant as a file, and reports how many bytes have arrived. */
export async function exportTenant(tenantId: string, withoutKeys: boolean, report: (bytes: number) => void, signal: AbortSignal) {
  const pieces: Uint8Array<ArrayBuffer>[] = [];
  let size = 0;
  for await (const { part } of archives.exportTenant({ tenantId, withoutKeys }, { signal })) {
    if (part.case !== "data") continue;
    pieces.push(part.value as Uint8Array<ArrayBuffer>);
    size += part.value.length;
    report(size);
    if (size > maxArchive) throw new ConnectError(`The archive is larger than 1 GiB, which a page cannot save: use ragd export ${tenantId} --output ${tenantId}.ragd.`, Code.OutOfRange);
  }
  save(`${tenantId}.ragd`, pieces);
}

/**
 * importTenant makes a tenant from an archive. Browsers send no stream of messages, but a body that has all of them: it
 * is put together of slices of the file, which the browser reads while it sends them.
 */
export async function importTenant(file: File, options: MessageInitShape<typeof ImportOptionsSchema>, signal: AbortSignal): Promise<ImportTenantResponse> {
  const first = toBinary(ImportTenantRequestSchema, create(ImportTenantRequestSchema, { part: { case: "options", value: options } }));
  const body: BlobPart[] = [head(first.length), first as Uint8Array<ArrayBuffer>];
  for (let start = 0; start < file.size; start += piece) {
    const slice = file.slice(start, start + piece);
    const field = new BinaryWriter().tag(ImportTenantRequestSchema.field.data.number, WireType.LengthDelimited).uint32(slice.size).finish() as Uint8Array<ArrayBuffer>;
    body.push(head(field.length + slice.size), field, slice);
  }
  const response = await fetch(`/${ArchiveService.typeName}/${ArchiveService.method.importTenant.name}`, {
    method: "POST", body: new Blob(body), headers: { "Content-Type": "application/connect+proto", "Connect-Protocol-Version": "1" }, signal,
  });
  if (!response.ok) throw new ConnectError(await response.text() || `The service answered ${response.status}.`, Code.Unknown);
  return answerOf(new Uint8Array(await response.arrayBuffer()));
}

/** head returns what stands before each message of a stream: no flags, and its length. */
function head(length: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(5);
  new DataView(bytes.buffer).setUint32(1, length);
  return bytes;
}

/** answerOf returns the message of a stream that has one. Errors: that with which the stream ended. */
function answerOf(stream: Uint8Array): ImportTenantResponse {
  const view = new DataView(stream.buffer);
  let answer: ImportTenantResponse | undefined;
  for (let at = 0; at < stream.length; ) {
    const end = at + 5 + view.getUint32(at + 1);
    const message = stream.subarray(at + 5, end);
    if (view.getUint8(at) & endStreamFlag) {
      const { error } = endStreamFromJson(message);
      if (error) throw error;
    } else {
      answer = fromBinary(ImportTenantResponseSchema, message);
    }
    at = end;
  }
  if (!answer) throw new ConnectError("The connection ended before the import did. `ragd import FILE` goes on with it.", Code.Unavailable);
  return answer;
}
