package index

// TermConstants maps the names of constants in the SQL function weigh_terms to their values
// in Go.
var TermConstants = map[string]float64{"k1": k1, "b": b, "typical_length": typicalLength, "max_terms": maxTerms}
