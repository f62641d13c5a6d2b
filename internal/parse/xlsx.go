package parse

import (
	"bytes"
	"context"
	"errors"

	"github.com/xuri/excelize/v2"

	"github.com/ragdhq/ragd/internal/textlimit"
)

// maxCells bounds the cells of a workbook. Rows may be wide and almost empty.
const maxCells = 20_000_000

// xlsx reads a workbook: each sheet under its name, a line for each row. A formula is
// its last result; numbers and dates are formatted as in the workbook.
func (p *parser) xlsx(ctx context.Context) error {
	from, err := p.openPack()
	if err != nil {
		return err
	}
	if err := p.describeOffice(from); err != nil {
		return err
	}
	// The library trusts the sizes that the file declares.
	if err := from.spend(); err != nil {
		return err
	}
	book, err := excelize.OpenReader(bytes.NewReader(p.src.Content), excelize.Options{
		UnzipSizeLimit: maxUnpacked, UnzipXMLSizeLimit: maxUnpacked,
	})
	switch {
	case errors.Is(err, excelize.ErrWorkbookPassword):
		return encrypted(p.format)
	case err != nil:
		return broken(p.format, err)
	}
	defer book.Close()
	cells := 0
	for _, sheet := range book.GetSheetList() {
		err := p.text.span(Span{Kind: Sheet, Name: textlimit.OneLine(sheet, maxProperty)}, func() error {
			return p.sheet(ctx, book, sheet, &cells)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (p *parser) sheet(ctx context.Context, book *excelize.File, name string, cells *int) error {
	rows, err := book.Rows(name)
	if err != nil {
		return broken(p.format, err)
	}
	defer rows.Close()
	var t table
	var sheet textBuilder
	for rows.Next() {
		if err := ctx.Err(); err != nil {
			return err
		}
		row, err := rows.Columns()
		if err != nil {
			return broken(p.format, err)
		}
		if *cells += len(row) + 1; *cells > maxCells {
			return tooLarge(p.format, "it has more than %d cells", maxCells)
		}
		t.row(&sheet, row)
		if sheet.full {
			break
		}
	}
	if err := rows.Error(); err != nil {
		return broken(p.format, err)
	}
	t.finish(&sheet)
	p.text.full = p.text.full || sheet.full
	if sheet.Len() > 0 {
		p.text.block("## " + textlimit.OneLine(name, maxProperty))
		p.text.block(sheet.String())
	}
	return nil
}
