// Package model is the wing of the models that turn texts into vectors, scores and answers.
// Its rooms:
//
//	embed       texts to vectors: providers, and the builtin model that needs none
//	llm         single questions and conversations with language models
//	localmodel  models in folders of this machine, computed in this process
//	endpoint    the HTTP side: deadlines, repetitions, limits; endpoint/own stores those of tenants
//
// A call names a model as provider/model. The directory of package endpoint finds where
// it is served and whose key pays: the tenant's own endpoint first, then the operator's.
// Package internal/rerank is the third user of endpoints.
//
// The wing may import secure and tenant (endpoint/own alone), and the leaf rooms of operate.
package model
