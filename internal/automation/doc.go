// Package automation is the wing of what tenants define that then runs by itself. Its rooms:
//
//	agent      a chat model that is offered chosen tools, in a loop with bounds
//	workflow   steps that call tools, map values, branch, repeat and wait for people
//	connector  keeps documents of an index the same as the items of a source, such as a website
//	hook       posts events to addresses of the tenant
//	event      notifies all instances of changes; event/journal keeps them for some days
//	webhook    signs and verifies the messages of hooks and of HTTP tools
//	evaluate   asks questions whose answers are known, measures how good results are, and tunes indexes by it
//
// A definition arrives through internal/api, is checked and stored by its room, and
// shows to agents as a tool of internal/tool/toolset. Work that outlives a call is a job of
// internal/tenant/job: any instance takes it up, and a killed one loses nothing.
//
// The wing may import tool, ingest, graph, query, index, model, secure, tenant and the leaf
// rooms of all wings.
package automation
