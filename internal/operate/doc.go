// Package operate is the wing of what the service needs to run and to be watched. Most of its
// rooms know no tenant, and any wing may import them:
//
//	fault       kinds of errors, and what callers are told
//	limit       divides a scarce resource between keys, such as tenants
//	cache       values in memory, bounded by entries, bytes and age
//	postgres    pools, migrations, driver errors; postgres/embedded runs a private server
//	telemetry   metrics and spans
//	logrepeat   keeps failures that repeat from flooding the log
//	textlimit, pattern, nearest, pagination, metadata   what callers send: lengths, regular
//	            expressions, misspelt names, page tokens, JSON objects
//	notices     the licences of what the binary contains
//
// Three rooms are for operators, and import what they look at:
//
//	audit       the log of administrative actions
//	doctor      what is wrong with a database or a machine, and what to do
//	reseal      encrypts all secrets with the newest master key
package operate
