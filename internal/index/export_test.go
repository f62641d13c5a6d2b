package index

// TermConstants are the constants of the weights of terms by the names that they have in
// the SQL function weigh_terms.
var TermConstants = map[string]float64{"k1": k1, "b": b, "typical_length": typicalLength, "max_terms": maxTerms}
