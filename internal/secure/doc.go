// Package secure is the wing of secrets and of what is outside. Its rooms:
//
//	seal         encrypts secrets for the database with the operator's master keys
//	secret       the secrets of tenants, which their tools send and nobody can read
//	identity     short-lived tokens that say on whose behalf the service calls
//	outbound     connections to addresses of tenants, kept out of the operator's network
//	oauthclient  tokens for servers that tenants choose
//
// A secret is sealed before it reaches a statement and opened only where it is sent: to
// the hosts that its owner has named, through a connection of outbound. It is in no error,
// log, trace or answer.
//
// The wing may import tenant (secret alone) and the leaf rooms of operate.
package secure
