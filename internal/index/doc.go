// Package index creates, changes and deletes indexes: their settings, their chunk tables
// and the Postgres indexes on them. internal/query searches them, internal/ingest fills them.
//
// The wing has two rooms more:
//
//	vector   writes ready-made vectors: ragd as a plain vector store
//	storage  decides whether more data may be stored, by the free space of the database's disk
//
// Who reads or writes chunks calls Use with the name of an index. It gives the settings and the
// names of the tables, and calls again with fresh ones if a table was replaced meanwhile.
//
// The wing may import model, tenant, chunk, the backlog of ingest, whose documents it counts,
// and the leaf rooms of all wings.
package index
