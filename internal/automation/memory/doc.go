// Package memory keeps short texts about users of a tenant: facts and preferences that later conversations
// need.
//
// A memory is a ready-made vector of the index access.MemoryIndex, which is made with the first one. Its
// metadata says whose it is (the subject, see access.Request.MemorySubject), from when until when it holds,
// when it expires, and where it comes from. Every call works in a request of access.Request.OfMemory, whose
// mandatory filter selects the memories of one subject: the rule that nobody reaches those of others is that
// of mandatory filters. Requests of callers cannot name the index, so no other call reaches it at all.
//
// An update makes a new memory and ends the validity of the one that it replaces, in one transaction. The
// versions share their lineage, and are erased together.
package memory
