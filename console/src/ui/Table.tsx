import { Button, Table as Plain, Text } from "@mantine/core";
import type { ReactNode } from "react";
import classes from "./Table.module.css";

/** Column is a column of a Table. */
export interface Column<Row> {
  head: ReactNode;
  cell: (row: Row) => ReactNode;
  /** Aligns numbers. */
  numeric?: boolean;
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
}

/** Table shows rows in columns; it scrolls sideways on narrow screens. */
export function Table<Row>({ label, columns, rows, id, more, loading }: Props<Row>) {
  return (
    <div>
      <div className={classes.scroll} tabIndex={0} role="region" aria-label={label}>
        <Plain highlightOnHover verticalSpacing={6} className={classes.table}>
          <Plain.Thead>
            <Plain.Tr>
              {columns.map((column, i) => <Plain.Th key={i} data-numeric={column.numeric || undefined} data-narrow={column.narrow || undefined}>{column.head}</Plain.Th>)}
            </Plain.Tr>
          </Plain.Thead>
          <Plain.Tbody>
            {rows.map((row) => (
              <Plain.Tr key={id(row)}>
                {columns.map((column, i) => <Plain.Td key={i} data-numeric={column.numeric || undefined} data-narrow={column.narrow || undefined}>{column.cell(row)}</Plain.Td>)}
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
