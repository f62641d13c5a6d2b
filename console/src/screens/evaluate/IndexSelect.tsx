import { Autocomplete } from "@mantine/core";
import { useQuery } from "@connectrpc/connect-query";
import { IndexService } from "@/gen/ragd/v1/index_pb";

interface Props {
  label: string;
  description?: string;
  placeholder?: string;
  value: string;
  onChange: (indexName: string) => void;
  required?: boolean;
}

/** IndexSelect asks for the name of an index, and suggests those of the tenant. */
export function IndexSelect(props: Props) {
  const indexes = useQuery(IndexService.method.listIndexes, { pageSize: 1000 });
  return <Autocomplete {...props} data={indexes.data?.indexNames ?? []} limit={100} />;
}
