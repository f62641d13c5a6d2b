package data

import "testing"

func TestStandInNamesAreReplaced(t *testing.T) {
	t.Parallel()
	whole := (&DB{}).Handle("acme-7")
	first, third := whole.OfIndex(12, 0), whole.OfIndex(12, 3)
	for _, tc := range []struct {
		name   string
		handle *Handle
		text   string
		want   string
	}{
		{"a table of the schema", whole, `SELECT FROM tenant.documents`, `SELECT FROM "tenant_acme-7".documents`},
		{"no name", whole, `SELECT $1`, `SELECT $1`},
		{
			"tables of an index", first, `SELECT FROM tenant.chunk AS c, tenant.edge, tenant.term, tenant.reembed JOIN tenant.documents`,
			`SELECT FROM "tenant_acme-7".chunk_12 AS c, "tenant_acme-7".edge_12, "tenant_acme-7".term_12, "tenant_acme-7".reembed_12 JOIN "tenant_acme-7".documents`,
		},
		{"tables of its maintenance", first, `SELECT FROM tenant.renewal, tenant.word AS w`, `SELECT FROM "tenant_acme-7".renewal_12, "tenant_acme-7".word_12 AS w`},
		{
			"tables of a later generation", third, `DELETE FROM tenant.chunk USING tenant.edge`,
			`DELETE FROM "tenant_acme-7".chunk_12_3 USING "tenant_acme-7".edge_12`,
		},
		{"names that begin like a table of an index", first, `SELECT tenant.edge_type, tenant.term_dimension(''), tenant.chunks FROM ragd_shared.tools`,
			`SELECT "tenant_acme-7".edge_type, "tenant_acme-7".term_dimension(''), "tenant_acme-7".chunks FROM ragd_shared.tools`},
		{"an absent table", third.Without("edge", "(SELECT 1)"), `SELECT FROM tenant.edge AS e JOIN tenant.edges JOIN tenant.chunk`,
			`SELECT FROM (SELECT 1) AS e JOIN "tenant_acme-7".edges JOIN "tenant_acme-7".chunk_12_3`},
		{"an index of another handle", third.OfIndex(4, 0), `SELECT FROM tenant.chunk`, `SELECT FROM "tenant_acme-7".chunk_4`},
	} {
		if got := tc.handle.SQL(tc.text); got != tc.want {
			t.Errorf("%s: got %s, want %s", tc.name, got, tc.want)
		}
	}
}

func TestSettingsAreSentAsParameters(t *testing.T) {
	t.Parallel()
	const want = "SELECT ragd.served($5), set_config($1, $2, true), set_config($3, $4, true)"
	if got := settingsSQL("ragd.served", 2); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func BenchmarkStandInNames(b *testing.B) {
	db := &DB{}
	b.ReportAllocs()
	for b.Loop() {
		_ = db.Handle("acme").OfIndex(12, 0).SQL(`SELECT c.chunk_id FROM tenant.chunk AS c LEFT JOIN tenant.documents AS d USING (document_id)`)
	}
}
