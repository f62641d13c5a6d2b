import { Anchor, Text } from "@mantine/core";
import { useInfiniteQuery } from "@connectrpc/connect-query";
import { Link } from "react-router";
import type { Connector } from "@/gen/ragd/v1/connector_pb";
import { DocumentService, type Document } from "@/gen/ragd/v1/document_pb";
import { count } from "@/ui/format";
import { Loading } from "@/ui/Loading";
import { Panel } from "@/ui/Page";
import { Status } from "@/ui/Status";
import { Table, type Column } from "@/ui/Table";
import { Time } from "@/ui/Time";

/** Documents lists the documents that a connector keeps. */
export function Documents({ connector: { connectorName, indexName, status } }: { connector: Connector }) {
  const documents = useInfiniteQuery(
    DocumentService.method.listDocuments, { indexName, filter: { connector: connectorName }, orderBy: "uri", pageSize: 100, pageToken: "" },
    { pageParamKey: "pageToken", getNextPageParam: (last) => last.nextPageToken || undefined, refetchInterval: status === "running" ? 3000 : false },
  );
  const columns: Column<Document>[] = [
    {
      head: "Document",
      cell: (document) => (
        <div dir="auto">
          <Anchor component={Link} size="sm" to={`/indexes/${encodeURIComponent(indexName)}/documents/${document.documentId}`}>{document.title || document.uri}</Anchor>
          {document.title && <Text size="xs" c="dimmed">{document.uri}</Text>}
          {document.error && <Text size="xs" c="red">{document.error}</Text>}
        </div>
      ),
    },
    { head: "State", cell: (document) => <Status value={document.status} />, narrow: true },
    { head: "Chunks", cell: (document) => count(document.chunkCount), numeric: true, narrow: true },
    { head: "Changed", cell: (document) => <Time value={document.updateTime} />, narrow: true },
  ];
  return (
    <Panel>
      <Loading query={documents}>
        {({ pages }) => <Table label="Documents" columns={columns} rows={pages.flatMap((page) => page.documents)} id={(document) => document.documentId} more={documents.hasNextPage ? () => void documents.fetchNextPage() : undefined} loading={documents.isFetchingNextPage} />}
      </Loading>
    </Panel>
  );
}
