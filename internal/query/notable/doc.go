// Package notable records questions that deserve a look: those that found nothing, took long or failed. A Recorder
// merges equal questions in memory and writes them every few seconds, so that a search waits for no write:
//
//	recorder.Note(ctx, id, i, notable.Asked{Question: text, Sources: 0})
//
// Questions of credentials with a mandatory filter are not recorded, and only admins list the others. The package
// index deletes the rows of an index with it.
package notable
