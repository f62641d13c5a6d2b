package rpc_test

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protojson"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

const (
	salesCSV = "Day,Region,Part,Quantity,Unit price (EUR),Paid\n" +
		"2026-01-05,North,Cleat,4,14.50,yes\n2026-01-20,South,Cleat,10,14.50,no\n2026-02-03,North,Shackle,3,7.25,yes\n" +
		"2026-02-14,West,Winch,1,240.10,yes\n2026-03-01,South,Shackle,8,7.25,no\n2026-03-09,North,Winch,2,239.90,\n"
	partsMarkdown = "# Parts\n\n| Part | Weight (kg) | Maker |\n| --- | ---: | --- |\n| Cleat | 0.2 | Nord |\n| Shackle | 0.1 | Nord |\n| Winch | 9.5 | Sud |\n| Anchor | 12 | |\n"
)

// tables is a tenant with two tables, one of a document that only the team may see.
type tables struct {
	servicetest.Client
	t *testing.T
}

func newTables(t *testing.T, s *servicetest.Service, tenant string) tables {
	t.Helper()
	c := s.Tenant(t, tenant)
	c.Index(t, "docs")
	c.Upload(t, &ragdv1.UploadDocumentRequest{IndexName: "docs", Uri: "sales.csv", ContentType: "text/csv", Source: servicetest.Text(salesCSV), Metadata: servicetest.Object(t, map[string]any{"team": "sales"})})
	c.Upload(t, &ragdv1.UploadDocumentRequest{IndexName: "docs", Uri: "parts.md", ContentType: "text/markdown", Source: servicetest.Text(partsMarkdown), Metadata: servicetest.Object(t, map[string]any{"team": "stock"})})
	return tables{c, t}
}

// ask returns the values and cells of an answer, or its error.
func (c tables) ask(req *ragdv1.QueryTableRequest) string {
	c.t.Helper()
	res, err := c.QueryTable(c.t.Context(), req)
	if err != nil {
		return err.Error()
	}
	var rows []string
	for _, r := range res.Rows {
		var values []string
		for _, v := range r.Values {
			values = append(values, fmt.Sprint(v.AsInterface()))
		}
		rows = append(rows, strings.Join(values, " "))
	}
	return strings.Join(rows, "; ")
}

func (c tables) sql(text string) string {
	c.t.Helper()
	return c.ask(&ragdv1.QueryTableRequest{Sql: text})
}

func (c tables) plan(text string) string {
	c.t.Helper()
	p := &ragdv1.TablePlan{}
	noError(c.t, protojson.Unmarshal([]byte(text), p))
	return c.ask(&ragdv1.QueryTableRequest{Plan: p})
}

func TestTablesAreListedAndQueried(t *testing.T) {
	t.Parallel()
	c := newTables(t, servicetest.New(t, service.Config{}), "acme")
	ctx := t.Context()
	list := need(t)(c.ListTables(ctx, &ragdv1.ListTablesRequest{})).(*ragdv1.ListTablesResponse)
	if len(list.Tables) != 2 {
		t.Fatalf("%v", list)
	}
	found := need(t)(c.ListTables(ctx, &ragdv1.ListTablesRequest{Search: "UNIT price"})).(*ragdv1.ListTablesResponse)
	if len(found.Tables) != 1 {
		t.Fatalf("%v", found)
	}
	sales := found.Tables[0]
	var columns []string
	for _, col := range sales.Columns {
		columns = append(columns, col.Name+" "+col.Type+" "+col.Unit)
	}
	if got := strings.Join(columns, ","); sales.Name != "sales" || sales.RowCount != 6 || sales.Range != "lines 2-7" || got != "day date ,region text ,part text ,quantity number ,unit_price number EUR,paid boolean " {
		t.Errorf("%s: %v", got, sales)
	}
	for _, tc := range []struct{ sql, want string }{
		{"SELECT sum(quantity) FROM sales", "28"},
		{"SELECT region, sum(quantity * unit_price) AS total FROM sales GROUP BY region ORDER BY total DESC", "North 559.55; West 240.1; South 203"},
		{"SELECT count(*), count(paid), count(DISTINCT part), min(day), max(unit_price), avg(quantity), median(quantity) FROM sales", "6 5 3 2026-01-05 240.1 4.666666666666667 3.5"},
		{"select month(day) as m, sum(quantity) from sales group by m order by m desc limit 2;", "3 10; 2 4"},
		{"SELECT part FROM sales WHERE NOT paid AND quantity BETWEEN 8 AND 9", "Shackle"},
		{"SELECT part, day FROM sales WHERE day >= '2026-02-01' AND day < DATE '2026-03-01' OR part LIKE 'C%' AND region = 'South'", "Cleat 2026-01-20; Shackle 2026-02-03; Winch 2026-02-14"},
		{"SELECT DISTINCT region FROM sales WHERE part IN ('Winch', 'Cleat') ORDER BY region", "North; South; West"},
		{"SELECT s.part, p.maker, sum(s.quantity * p.weight) kg FROM sales s JOIN parts p ON s.part = p.part GROUP BY 1, 2 HAVING sum(s.quantity) > 10 ORDER BY kg", "Shackle Nord 1.1; Cleat Nord 2.8"},
		{"SELECT p.part FROM parts p LEFT JOIN sales s ON p.part = s.part WHERE s.quantity IS NULL", "Anchor"},
		{"SELECT max(day) - min(day) AS days FROM sales", "63"},
		{"SELECT part FROM sales WHERE (quantity + 1) * 2 > 20", "Cleat"},
		{"SELECT part FROM sales WHERE unit_price > quantity * 100", "Winch; Winch"},
		{"SELECT count(*) FROM sales WHERE paid IS NULL", "1"},
		{"SELECT count(*) FROM sales WHERE region <> 'North' AND (paid OR quantity > 9)", "2"},
		{"SELECT sum(quantity) / count(*) AS mean, round(avg(unit_price), 1) FROM sales WHERE year(day) = 2026", "4.666666666666667 87.3"},
		{"SELECT part FROM sales WHERE part ILIKE '%inc%' AND region NOT IN ('North')", "Winch"},
		{"SELECT extract(quarter from day) AS q, count(*) FROM sales GROUP BY q", "1 6"},
		{"SELECT \"Unit price (EUR)\" FROM sales ORDER BY quantity DESC LIMIT 1", "14.5"},
		{"SELECT sum(quantity) FROM sales WHERE region = 'nowhere'", "<nil>"},
		{"SELECT quantity / 0 FROM sales LIMIT 1", "<nil>"},
	} {
		if got := c.sql(tc.sql); got != tc.want {
			t.Errorf("%s\n%s, want %s", tc.sql, got, tc.want)
		}
	}
	for _, tc := range []struct{ plan, want string }{
		{`{"table": "` + sales.TableId + `", "groupBy": ["region"]}`, "North 3; South 2; West 1"},
		{`{"table": "sales", "select": [{"value": "quantity", "aggregate": "sum"}], "groupBy": ["start_of_month(day)"], "filter": {"paid": true}}`, "2026-01-01 4; 2026-02-01 4"},
		{`{"table": "sales", "as": "s", "joins": [{"table": "parts", "as": "p", "on": [{"left": "part", "right": "part"}]}], "compute": [{"value": "s.quantity * p.weight", "as": "kg"}],
			"select": [{"value": "s.part"}, {"value": "kg"}], "filter": {"kg": {"$gt": 1}, "p.maker": "Nord"}, "orderBy": [{"value": "kg", "descending": true}]}`, "Cleat 2"},
		{`{"table": "sales", "groupBy": ["part"], "select": [{"aggregate": "count", "as": "n"}, {"value": "region", "aggregate": "distinct", "as": "regions"}], "having": {"n": {"$gte": 2}, "regions": 2}, "limit": 1, "offset": 1}`, "Shackle 2 2"},
		{`{"table": "parts", "orderBy": [{"value": "weight", "descending": true}], "limit": 1}`, "Anchor 12 <nil>"},
		{`{"table": "parts", "filter": "{\"maker\": null}"}`, "Anchor 12 <nil>"},
	} {
		if got := c.plan(tc.plan); got != tc.want {
			t.Errorf("%s\n%s, want %s", tc.plan, got, tc.want)
		}
	}
	res := need(t)(c.QueryTable(ctx, &ragdv1.QueryTableRequest{Sql: "SELECT region, sum(unit_price) FROM sales GROUP BY region LIMIT 2"})).(*ragdv1.QueryTableResponse)
	if r := res.Rows[0]; !res.Truncated || r.RowCount != 3 || r.Cells[0] != "lines 2, 4, 7" || res.Columns[1].Unit != "EUR" || res.Sources[0].Uri != "sales.csv" || res.Sources[0].Range != "lines 2-7" || res.Plan.Table != "sales" {
		t.Errorf("%v", res)
	}
}

func TestMistakesInPlansAreNamed(t *testing.T) {
	t.Parallel()
	c := newTables(t, servicetest.New(t, service.Config{}), "acme")
	for text, want := range map[string]string{
		"SELECT regin FROM sales":                                        `names "regin", which is no column; did you mean region?`,
		"SELECT part FROM sails":                                         `table "sails" not found in the index "docs"; did you mean sales?`,
		"SELECT part, sum(quantity) FROM sales":                          "neither an aggregate nor in groupBy",
		"SELECT sum(part) FROM sales":                                    "only numbers have one",
		"SELECT part + 1 FROM sales":                                     "only numbers",
		"SELECT sqrt(quantity) FROM sales":                               "is no function here",
		"SELECT part FROM sales UNION SELECT part FROM parts":            "UNION at character 24, which is not supported",
		"SELECT part FROM sales s JOIN parts p ON s.part = p.part":       "which both s and p have",
		"SELECT x.part FROM sales s JOIN parts p ON s.quantity = p.part": "join columns of one type",
		"SELECT part FROM sales LIMIT 5000":                              "between 1 and 1000",
		"SELECT part FROM sales WHERE part LIKE quantity":                "pattern in single quotes",
		"SELECT part FROM sales; DROP TABLE sales":                       "DROP at character 25, which is not supported",
		"SELECT part FROM sales -- all":                                  "has a comment at character 24",
		"SELECT part FROM sales WHERE sum(quantity) > 1":                 "aggregate",
		"SELECT * FROM sales WHERE quantity > ":                          "the end at character 38 where a value is expected",
		"UPDATE sales SET part = 1":                                      "not supported",
		"":                                                               "plan: or sql must be given",
	} {
		if got := c.sql(text); !strings.Contains(got, want) {
			t.Errorf("%s\n%s, want %s", text, got, want)
		}
	}
	for text, want := range map[string]string{
		`{"table": "sales", "select": [{"value": "quantity", "aggregate": "mode"}]}`:                "plan.select[0].aggregate",
		`{"table": "sales", "filter": {"quantity": {"$foo": 1}}}`:                                   "plan.filter",
		`{"table": "sales", "filter": {"$uri": "a"}}`:                                               "plan.filter: tests $uri",
		`{"table": "sales", "filter": {"quantity": {"$context": "claims.sub"}}}`:                    "plan.filter: has a reference",
		`{"table": "sales", "filter": {"a.b.c": 1}}`:                                                "plan.filter",
		`{"table": "sales", "joins": [{"table": "parts"}]}`:                                         "plan.joins[0].on",
		`{"table": "sales", "joins": [{"table": "sales", "on": [{"left":"part","right":"part"}]}]}`: "plan.joins[0].as",
		`{"table": "", "select": []}`:                                                               "plan.table",
		`{"table": "sales", "orderBy": [{"value": "nothing"}]}`:                                     "plan.orderBy[0].value",
		`{"table": "sales", "compute": [{"value": "1", "as": "a.b"}]}`:                              "plan.compute[0].as",
		`{"table": "sales", "select": [{"value": "part", "as": "x"}, {"value": "day", "as": "x"}]}`: "has the name",
		`{"table": "sales", "offset": -1}`:                                                          "plan.offset",
		`{"table": "sales", "limit": 0}`:                                                            "plan.limit",
	} {
		if got := c.plan(text); !strings.Contains(got, want) {
			t.Errorf("%s\n%s, want %s", text, got, want)
		}
	}
}

// Tables follow their documents: what is replaced, hidden or deleted is not computed with.
func TestTablesFollowTheirDocuments(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	acme, bolt := newTables(t, s, "acme"), newTables(t, s, "bolt")
	ctx := t.Context()
	var ids []string
	for _, table := range need(t)(acme.ListTables(ctx, &ragdv1.ListTablesRequest{})).(*ragdv1.ListTablesResponse).Tables {
		ids = append(ids, table.TableId)
	}
	bound := tables{s.Client(s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme", Scopes: []string{"read"}, MandatoryFilter: servicetest.Object(t, map[string]any{"team": "stock"})})), t}
	elsewhere := tables{s.Client(s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme", Scopes: []string{"read"}, Indexes: &ragdv1.AllowedNames{Names: []string{"other"}}})), t}
	list := need(t)(bound.ListTables(ctx, &ragdv1.ListTablesRequest{})).(*ragdv1.ListTablesResponse)
	if len(list.Tables) != 1 || list.Tables[0].Name != "parts" {
		t.Errorf("a bound key sees %v", list)
	}
	if got := bound.sql("SELECT count(*) FROM parts"); got != "4" {
		t.Error(got)
	}
	for _, query := range []string{"SELECT count(*) FROM sales", `SELECT count(*) FROM parts p LEFT JOIN sales s ON p.part = s.part`} {
		if got := bound.sql(query); !strings.Contains(got, `table "sales" not found`) || strings.Contains(got, "did you mean sales") {
			t.Errorf("a bound key: %s", got)
		}
		if got := elsewhere.sql(query); !strings.Contains(got, "not_found") && !strings.Contains(got, "permission") {
			t.Errorf("a key of another index: %s", got)
		}
	}
	for _, id := range ids {
		if got := bolt.plan(`{"table": "` + id + `"}`); !strings.Contains(got, "not found") {
			t.Errorf("another tenant: %s", got)
		}
		if got := bolt.plan(`{"table": "parts", "joins": [{"table": "` + id + `", "as": "x", "on": [{"left": "part", "right": "part"}]}]}`); !strings.Contains(got, "not found") {
			t.Errorf("another tenant: %s", got)
		}
	}
	data, _ := exportTenant(t, s.Operator(), &ragdv1.ExportTenantRequest{TenantId: "acme"})
	_, err := importTenant(t, s.Operator(), &ragdv1.ImportOptions{TenantId: "acme-copy"}, data)
	noError(t, err)
	copied := tables{s.Client(s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme-copy", Scopes: []string{"read"}})), t}
	if got := copied.sql("SELECT sum(s.quantity) FROM sales s JOIN parts p ON s.part = p.part"); got != "28" {
		t.Errorf("exported and imported: %s", got)
	}
	bytes := func() float64 {
		var n float64
		noError(t, s.Pool.QueryRow(ctx, `SELECT sum(bytes)::float8 FROM tenant_acme.index_counts`).Scan(&n))
		return n
	}
	before := bytes()
	if want := len(salesCSV) + len(partsMarkdown); before <= float64(want) {
		t.Errorf("%v bytes are counted of documents of %d bytes: without tables", before, want)
	}
	acme.Upload(t, &ragdv1.UploadDocumentRequest{IndexName: "docs", Uri: "sales.csv", ContentType: "text/csv", Source: servicetest.Text("Day,Quantity\n2026-01-01,5\n2026-01-02,6\n")})
	if got := acme.sql("SELECT sum(quantity) FROM sales"); got != "11" {
		t.Errorf("replaced: %s", got)
	}
	if got := acme.sql("SELECT sum(unit_price) FROM sales"); !strings.Contains(got, "no column") {
		t.Errorf("replaced: %s", got)
	}
	need(t)(acme.DeleteDocument(ctx, &ragdv1.DeleteDocumentRequest{IndexName: "docs", Uri: "sales.csv"}))
	_, err = acme.QueryTable(ctx, &ragdv1.QueryTableRequest{Sql: "SELECT 1 FROM sales"})
	servicetest.WantCode(t, "deleted", err, connect.CodeNotFound)
	need(t)(acme.DeleteDocument(ctx, &ragdv1.DeleteDocumentRequest{IndexName: "docs", Uri: "parts.md"}))
	if left := bytes(); left != 0 {
		t.Errorf("%v bytes are counted without documents", left)
	}
	need(t)(bolt.TruncateIndex(ctx, &ragdv1.TruncateIndexRequest{IndexName: "docs"}))
	if list := need(t)(bolt.ListTables(ctx, &ragdv1.ListTablesRequest{})).(*ragdv1.ListTablesResponse); len(list.Tables) != 0 {
		t.Errorf("emptied: %v", list)
	}
}

// Two hundred hostile statements are refused, or answered from the tables that they may read; a question of great cost ends.
func TestHostileQuestionsAboutTablesDoNoHarm(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	c := newTables(t, s, "acme")
	var wide strings.Builder
	wide.WriteString("Kind,Number\n")
	for n := range 2000 {
		fmt.Fprintf(&wide, "same,%d\n", n)
	}
	c.Upload(t, &ragdv1.UploadDocumentRequest{IndexName: "docs", Uri: "wide.csv", ContentType: "text/csv", Source: servicetest.Text(wide.String())})
	raw, err := os.ReadFile("../../query/table/testdata/hostile.json")
	noError(t, err)
	var all []string
	noError(t, json.Unmarshal(raw, &all))
	before := s.RowSums(t, "acme")
	allowed := []connect.Code{connect.CodeInvalidArgument, connect.CodeNotFound}
	for _, sql := range all {
		_, err := c.QueryTable(t.Context(), &ragdv1.QueryTableRequest{Sql: sql})
		if err != nil && !slices.Contains(allowed, connect.CodeOf(err)) {
			t.Errorf("%.200q: %v", sql, err)
		}
	}
	_, err = c.QueryTable(t.Context(), &ragdv1.QueryTableRequest{Sql: `SELECT count(DISTINCT a.number * b.number) FROM wide a JOIN wide b ON a.kind = b.kind JOIN wide c ON a.kind = c.kind JOIN wide d ON a.kind = d.kind`})
	servicetest.WantCode(t, "a question of great cost", err, connect.CodeResourceExhausted)
	if diff := cmp.Diff(before, s.RowSums(t, "acme")); diff != "" {
		t.Errorf("rows have changed: %s", diff)
	}
}
