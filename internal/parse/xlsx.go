package parse

import (
	"bytes"
	"context"
	"errors"

	"github.com/xuri/excelize/v2"

	"github.com/ragdhq/ragd/internal/textlimit"
)

const (
	maxCells  = 20_000_000 // of a workbook; rows may be wide and almost empty
	maxSheets = 5_000      // of a workbook
)

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
	if err := checkSheets(from); err != nil {
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
		if p.text.full {
			break
		}
	}
	return nil
}

// checkSheets returns an error if a workbook has more than maxSheets sheets, or several that
// name the same part: the library would read the part for each of them.
func checkSheets(from *pack) error {
	book, err := from.mainPart("xl/workbook.xml")
	if err != nil {
		return err
	}
	data, err := from.part(book)
	if err != nil {
		return err
	}
	list, err := tree(data)
	if err != nil {
		return broken(from.format, err)
	}
	targets, err := from.relations(book)
	if err != nil {
		return err
	}
	sheets := 0
	list.all("sheets", func(all *node) {
		for _, n := range all.children {
			sheets++
			for _, a := range n.attrs {
				if a.Name.Local == "id" && a.Name.Space != "" && from.repeated(targets[a.Value].target) {
					err = broken(from.format, errors.New("two sheets name the same part"))
				}
			}
		}
	})
	if sheets > maxSheets {
		return tooLarge(from.format, "it has %d sheets, over the limit of %d", sheets, maxSheets)
	}
	return err
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
