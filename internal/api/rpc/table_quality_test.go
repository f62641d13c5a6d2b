package rpc_test

import (
	"archive/zip"
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/xuri/excelize/v2"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

// ledgerRow is a row of a table that a rule makes: amounts are in hundredths.
type ledgerRow struct {
	code, team    string
	month, day    int
	amount, units int
}

type ledger struct {
	name, format         string
	code, amount, units_ string // titles of columns
	rows                 []ledgerRow
}

var ledgerTeams = []struct {
	name, region string
	rate         int // in hundredths
}{{"Amber", "North", 110}, {"Birch", "North", 95}, {"Cedar", "South", 130}, {"Dune", "South", 75}, {"Ember", "West", 205}}

// ledgers returns nine tables in six formats. Amounts of a table are all different.
func ledgers() (all []ledger) {
	formats := []string{"csv", "tsv", "md", "html", "xlsx", "ods", "csv", "md", "xlsx"}
	titles := [][4]string{
		{"harbour dues", "Berth", "Dues (EUR)", "Ships"}, {"energy", "Meter", "Cost (EUR)", "Hours"}, {"travel", "Trip", "Fare", "Nights"},
		{"repairs", "Order", "Price", "Parts"}, {"orders", "Invoice", "Net (USD)", "Pieces"}, {"donations", "Receipt", "Gift", "Givers"},
		{"deliveries", "Parcel", "Freight", "Boxes"}, {"courses", "Course", "Fee", "Seats"}, {"claims", "Claim", "Payout", "Letters"},
	}
	for i, title := range titles {
		random := rand.New(rand.NewPCG(uint64(i), 2026))
		l := ledger{name: title[0], format: formats[i], code: title[1], amount: title[2], units_: title[3]}
		amounts := random.Perm(500_000)
		for n := range 40 + random.IntN(200) {
			l.rows = append(l.rows, ledgerRow{
				code: fmt.Sprintf("%c-%04d", 'K'+i, n+1), team: ledgerTeams[random.IntN(len(ledgerTeams))].name,
				month: 1 + random.IntN(12), day: 1 + random.IntN(28), amount: amounts[n] + 100, units: random.IntN(40),
			})
		}
		all = append(all, l)
	}
	return all
}

func hundredths(n int) string { return fmt.Sprintf("%d.%02d", n/100, n%100) }

func (l ledger) cells() [][]string {
	all := [][]string{{l.code, "Team", "Date", l.amount, l.units_}}
	for _, r := range l.rows {
		all = append(all, []string{r.code, r.team, fmt.Sprintf("2025-%02d-%02d", r.month, r.day), hundredths(r.amount), fmt.Sprint(r.units)})
	}
	return all
}

// file writes the table in its format.
func (l ledger) file(t *testing.T) *ragdv1.UploadDocumentRequest {
	t.Helper()
	var out bytes.Buffer
	cells := l.cells()
	joined := func(before, between, after string) {
		for i, row := range cells {
			out.WriteString(before + strings.Join(row, between) + after + "\n")
			if i == 0 && l.format == "md" {
				out.WriteString("|---|---|---|---:|---:|\n")
			}
		}
	}
	switch l.format {
	case "csv":
		joined("", ",", "")
	case "tsv":
		joined("", "\t", "")
	case "md":
		out.WriteString("# " + l.name + "\n\n")
		joined("| ", " | ", " |")
	case "html":
		out.WriteString("<h1>" + l.name + "</h1><table>")
		for i, row := range cells {
			tag := map[bool]string{true: "th", false: "td"}[i == 0]
			out.WriteString("<tr><" + tag + ">" + strings.Join(row, "</"+tag+"><"+tag+">") + "</" + tag + "></tr>")
		}
		out.WriteString("</table>")
	case "xlsx":
		book := excelize.NewFile()
		defer book.Close()
		noError(t, book.SetSheetName("Sheet1", l.name))
		for i, row := range cells {
			values := []any{row[0], row[1], row[2], row[3], row[4]}
			if i > 0 {
				values[3], values[4] = float64(l.rows[i-1].amount)/100, l.rows[i-1].units
			}
			noError(t, book.SetSheetRow(l.name, fmt.Sprintf("B%d", i+3), &values))
		}
		noError(t, book.Write(&out))
	case "ods":
		z := zip.NewWriter(&out)
		write := func(name, text string) {
			w, err := z.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Store})
			noError(t, err)
			_, err = w.Write([]byte(text))
			noError(t, err)
		}
		write("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
		var body strings.Builder
		for i, row := range cells {
			body.WriteString("<table:table-row>")
			for at, cell := range row {
				kind := `office:value-type="string"`
				if i > 0 && at > 2 {
					kind = `office:value-type="float" office:value="` + cell + `"`
				}
				body.WriteString("<table:table-cell " + kind + "><text:p>" + cell + "</text:p></table:table-cell>")
			}
			body.WriteString("</table:table-row>")
		}
		write("content.xml", `<?xml version="1.0"?><office:document-content xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0" xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0"><office:body><office:spreadsheet><table:table table:name="`+l.name+`">`+body.String()+`</table:table></office:spreadsheet></office:body></office:document-content>`)
		noError(t, z.Close())
	}
	req := &ragdv1.UploadDocumentRequest{IndexName: "docs", Uri: l.name + "." + l.format}
	if l.format == "xlsx" || l.format == "ods" {
		req.Source = &ragdv1.UploadDocumentRequest_Content{Content: out.Bytes()}
		return req
	}
	req.Source = servicetest.Text(out.String())
	req.ContentType = map[string]string{"csv": "text/csv", "tsv": "text/tab-separated-values", "md": "text/markdown", "html": "text/html"}[l.format]
	return req
}

// tableQuestion is a question with the SQL for it and its answer, which the test computes itself.
type tableQuestion struct{ text, sql, want string }

func (l ledger) questions() []tableQuestion {
	table, code, amount, units := strings.ReplaceAll(l.name, " ", "_"), strings.ToLower(l.code), strings.ToLower(strings.Fields(l.amount)[0]), strings.ToLower(l.units_)
	if code == "order" {
		code = "order_"
	}
	total, cedar, days := 0, 0, 0
	months, regions := map[int]int{}, map[string]int{}
	for _, r := range l.rows {
		total += r.amount
		months[r.month] += r.amount
		if r.team == "Cedar" {
			cedar += r.units
		}
		if at := r.month*100 + r.day; at >= 315 && at < 701 {
			days++
		}
		for _, team := range ledgerTeams {
			if team.name == r.team {
				regions[team.region] += r.amount * team.rate
			}
		}
	}
	sorted := slices.Clone(l.rows)
	slices.SortFunc(sorted, func(a, b ledgerRow) int { return b.amount - a.amount })
	best := 1
	for m := range months {
		if months[m] > months[best] {
			best = m
		}
	}
	south := fmt.Sprintf("%d.%04d", regions["South"]/10000, regions["South"]%10000)
	return []tableQuestion{
		{"What is the total of " + l.amount + " in " + l.name + "?", "SELECT sum(" + amount + ") FROM " + table, number(hundredths(total))},
		{"How many " + l.units_ + " did team Cedar have in " + l.name + " altogether?", "SELECT sum(" + units + ") FROM " + table + " WHERE team = 'Cedar'", fmt.Sprint(cedar)},
		{"Which three entries of " + l.name + " have the highest " + l.amount + "?", "SELECT " + code + " FROM " + table + " ORDER BY " + amount + " DESC LIMIT 3", sorted[0].code + "; " + sorted[1].code + "; " + sorted[2].code},
		{"How many entries of " + l.name + " are from 15 March to 30 June 2025?", "SELECT count(*) FROM " + table + " WHERE date BETWEEN '2025-03-15' AND '2025-06-30'", fmt.Sprint(days)},
		{"In which month of 2025 was " + l.amount + " of " + l.name + " highest?", "SELECT month(date) AS m FROM " + table + " GROUP BY m ORDER BY sum(" + amount + ") DESC LIMIT 1", fmt.Sprint(best)},
		{"What do teams of the region South owe by their rates for " + l.name + "?", "SELECT sum(x." + amount + " * t.rate) FROM " + table + " x JOIN teams t ON x.team = t.team WHERE t.region = 'South'", number(south)},
	}
}

// number returns a decimal without zeros at its end.
func number(text string) string { return strings.TrimSuffix(strings.TrimRight(text, "0"), ".") }

// Sixty questions with exact answers over ten tables: scripted plans answer all of them. Similarity search finds few of
// the answers in its ten best passages, as they are in no cell.
func TestQuestionsOverTablesAreAnsweredExactly(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	c := tables{s.Tenant(t, "acme"), t}
	c.Index(t, "docs")
	all := ledgers()
	questions := []tableQuestion{
		{"How many teams are there?", "SELECT count(*) FROM teams", "5"},
		{"What is the mean rate of the teams?", "SELECT avg(rate) FROM teams", "1.23"},
		{"What is the median rate of the teams?", "SELECT median(rate) FROM teams", "1.1"},
		{"Which team has the highest rate?", "SELECT team FROM teams ORDER BY rate DESC LIMIT 1", "Ember"},
		{"How many regions have teams?", "SELECT count(DISTINCT region) FROM teams", "3"},
		{"Which regions have two teams?", "SELECT region FROM teams GROUP BY region HAVING count(*) = 2 ORDER BY region", "North; South"},
	}
	var teams strings.Builder
	teams.WriteString("Team,Region,Rate\n")
	for _, team := range ledgerTeams {
		teams.WriteString(team.name + "," + team.region + "," + hundredths(team.rate) + "\n")
	}
	c.Upload(t, &ragdv1.UploadDocumentRequest{IndexName: "docs", Uri: "teams.csv", ContentType: "text/csv", Source: servicetest.Text(teams.String())})
	for _, l := range all {
		c.Upload(t, l.file(t))
		questions = append(questions, l.questions()...)
	}
	right, similar := 0, 0
	for _, q := range questions {
		if got := c.sql(q.sql); got == q.want {
			right++
		} else {
			t.Errorf("%s\n%s\n%s, want %s", q.text, q.sql, got, q.want)
		}
		found := need(t)(c.VectorQuery(t.Context(), &ragdv1.VectorQueryRequest{QueryText: q.text, TopK: new(int32(10))})).(*ragdv1.VectorQueryResponse)
		words := strings.FieldsFunc(found.RelevantContext, func(r rune) bool { return strings.ContainsRune(" \n;:,|()", r) })
		has := true
		for part := range strings.SplitSeq(q.want, "; ") {
			has = has && slices.Contains(words, part)
		}
		if has {
			similar++
		}
	}
	t.Logf("of %d questions, query_table answers %d; the ten best passages of a search have the answer to %d", len(questions), right, similar)
}
