import { createQueryOptions, useTransport } from "@connectrpc/connect-query";
import { toJson } from "@bufbuild/protobuf";
import { ValueSchema } from "@bufbuild/protobuf/wkt";
import { useQueries } from "@tanstack/react-query";
import { DocumentService } from "@/gen/ragd/v1/document_pb";
import { IndexService } from "@/gen/ragd/v1/index_pb";
import { fieldsOf, type Field } from "./filter";

/** examined is how many documents of an index are read to find out which metadata there are. */
const examined = 500;

const calm = { staleTime: 60_000, retry: false };

/** useFields returns the metadata fields of indexes: those that they describe, then those that were found in documents. */
export function useFields(indexNames: string[]): Field[] {
  const transport = useTransport();
  const described = useQueries({ queries: indexNames.map((indexName) => ({ ...createQueryOptions(IndexService.method.describeIndex, { indexName }, { transport }), ...calm })) });
  const listed = useQueries({ queries: indexNames.map((indexName) => ({ ...createQueryOptions(DocumentService.method.listDocuments, { indexName, pageSize: examined }, { transport }), ...calm })) });
  const known = described.flatMap(({ data }) => data?.fields ?? []).map(({ name, description, values }): Field => ({ name, description, values: values.map((value) => String(toJson(ValueSchema, value))) }));
  const found = fieldsOf(listed.flatMap(({ data }) => data?.documents ?? []).map((document) => document.metadata ?? {}));
  const fields = new Map<string, Field>();
  for (const { name, description, values } of [...known, ...found]) {
    const before = fields.get(name);
    fields.set(name, { name, description: before?.description || description, values: [...new Set([...(before?.values ?? []), ...values])] });
  }
  return [...fields.values()];
}
