package seal

// Column is a column of a database table with sealed secrets. The package that seals them
// exports it, for package reseal.
type Column struct {
	Table string // with its schema
	Name  string
	// Row is an SQL expression for what people call a row's secret, such as secrets/crm.
	Row string
	// BelongsTo is an SQL expression for a text[]: what the secret of a row belongs to, as it
	// was given to Seal.
	BelongsTo string
	// Needed is an SQL condition for the rows whose secrets are still used. Empty for all.
	Needed string
}
