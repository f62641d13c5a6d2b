import { Button, Table as Plain, Text, UnstyledButton } from "@mantine/core";
import { IconArrowDown, IconArrowUp } from "@tabler/icons-react";
import type { ReactNode } from "react";
import classes from "./Table.module.css";

/** Column is a column of a Table. */
export interface Column<Row> {
  head: ReactNode;
  cell: (row: Row) => ReactNode;
  /** Aligns numbers. */
  numeric?: boolean;
  /** Sorts by the column: the field in the API's orderBy. */
  field?: string;
  /** Does not break lines, and takes no more width than necessary. */
  narrow?: boolean;
}

interface Props<Row> {
  label: string;
  columns: Column<Row>[];
  rows: Row[];
  id: (row: Row) => string;
  /** Loads the next page of a long list; absent when all rows are shown. */
  more?: () => void;
  loading?: boolean;
  /** What the rows are sorted by, as the API's orderBy. */
  order?: string;
  /** Sorts by something else; columns with a field then have a button. */
  sort?: (order: string) => void;
}

/** Table shows rows in columns. On narrow screens a row is a block, with the head of a column before its cell. */
export function Table<Row>({ label, columns, rows, id, more, loading, order = "", sort }: Props<Row>) {
  const labels = labelsOf(columns);
  return (
    <div>
      <div className={classes.scroll} tabIndex={0} role="region" aria-label={label}>
        <Plain highlightOnHover verticalSpacing={6} className={classes.table} role="table">
          <Plain.Thead role="rowgroup">
            <Plain.Tr role="row">
              {columns.map((column, i) => (
                <Plain.Th key={i} role="columnheader" data-label={labels[i]} data-numeric={column.numeric || undefined} data-narrow={column.narrow || undefined} aria-sort={sort && column.field ? directionOf(column.field, order) : undefined}>
                  {sort && column.field ? <SortButton head={column.head} field={column.field} order={order} sort={sort} /> : column.head}
                </Plain.Th>
              ))}
            </Plain.Tr>
          </Plain.Thead>
          <Plain.Tbody role="rowgroup">
            {rows.map((row) => (
              <Plain.Tr key={id(row)} role="row">
                {columns.map((column, i) => <Plain.Td key={i} role="cell" data-label={labels[i]} data-numeric={column.numeric || undefined} data-narrow={column.narrow || undefined}>{column.cell(row)}</Plain.Td>)}
              </Plain.Tr>
            ))}
          </Plain.Tbody>
        </Plain>
      </div>
      {rows.length === 0 && !loading && <Text c="dimmed" size="sm" p="sm">Nothing matches.</Text>}
      {more && <Button mt="sm" variant="default" size="xs" loading={loading} onClick={more}>Show more</Button>}
    </div>
  );
}

/** labelsOf are what stands before the cells of each column on narrow screens: nothing before the first with a text, which names the row. */
function labelsOf<Row>(columns: Column<Row>[]) {
  const heading = columns.findIndex(({ head }) => typeof head === "string");
  return columns.map(({ head }, i) => (typeof head === "string" && head !== "" && i !== heading ? head : undefined));
}

function directionOf(field: string, order: string) {
  if (order === field) return "ascending";
  return order === `${field} desc` ? "descending" : "none";
}

/** SortButton sorts by a column, the other way if the rows are sorted by it. */
function SortButton({ head, field, order, sort }: { head: ReactNode; field: string; order: string; sort: (order: string) => void }) {
  return (
    <UnstyledButton className={classes.sort} onClick={() => sort(order === field ? `${field} desc` : field)}>
      {head}
      {order === field && <IconArrowUp size={12} aria-hidden />}
      {order === `${field} desc` && <IconArrowDown size={12} aria-hidden />}
    </UnstyledButton>
  );
}
