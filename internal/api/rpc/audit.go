package rpc

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/gen/ragd/v1/ragdv1connect"
	"github.com/ragdhq/ragd/internal/operate/audit"
)

// content are the procedures that the audit log leaves out although they change something: they
// work on a tenant's content, often many times a second, which usage, jobs, runs and events tell
// of. A procedure that is not here, and not marked NO_SIDE_EFFECTS, is an administrative action.
var content = []string{
	ragdv1connect.AgentServiceAskAgentProcedure, ragdv1connect.AgentServiceAskAgentStreamProcedure, ragdv1connect.AgentServiceDeleteThreadProcedure,
	ragdv1connect.ConnectorServiceTestConnectorProcedure, ragdv1connect.ConnectorServiceSyncConnectorProcedure,
	ragdv1connect.DocumentServiceUploadDocumentProcedure, ragdv1connect.DocumentServiceUploadDocumentsProcedure, ragdv1connect.DocumentServiceDownloadDocumentProcedure, ragdv1connect.DocumentServiceExportChunksProcedure,
	ragdv1connect.DocumentServiceDeleteDocumentProcedure, ragdv1connect.DocumentServiceSyncSourceProcedure,
	ragdv1connect.DocumentServiceWatchJobProcedure, ragdv1connect.DocumentServiceCancelJobProcedure, ragdv1connect.DocumentServiceRetryJobProcedure,
	ragdv1connect.EndpointServiceTestEndpointProcedure,
	ragdv1connect.EvaluateServicePutQuestionsProcedure, ragdv1connect.EvaluateServiceDeleteQuestionsProcedure, ragdv1connect.EvaluateServiceDraftQuestionsProcedure, ragdv1connect.EvaluateServiceRecordFeedbackProcedure,
	ragdv1connect.EvaluateServiceStartEvaluationProcedure, ragdv1connect.EvaluateServiceDeleteEvaluationProcedure,
	ragdv1connect.EventServiceWatchEventsProcedure,
	ragdv1connect.HookServiceTestHookProcedure, ragdv1connect.HookServiceReplayDeliveryProcedure, ragdv1connect.HookServiceReplayFailedProcedure,
	ragdv1connect.MemoryServiceRememberProcedure, ragdv1connect.MemoryServiceForgetProcedure,
	ragdv1connect.QueryServiceListTopicsProcedure,
	ragdv1connect.ResearchServiceResearchStreamProcedure,
	ragdv1connect.ToolServiceCallToolProcedure, ragdv1connect.ToolServiceCallToolStreamProcedure,
	ragdv1connect.VectorServiceUpsertProcedure, ragdv1connect.VectorServiceUpdateProcedure, ragdv1connect.VectorServiceDeleteProcedure,
	ragdv1connect.WorkflowServiceStartWorkflowProcedure, ragdv1connect.WorkflowServiceRunWorkflowProcedure, ragdv1connect.WorkflowServiceWatchRunProcedure,
	ragdv1connect.WorkflowServiceCancelRunProcedure, ragdv1connect.WorkflowServiceResumeRunProcedure,
}

// audited reports whether a call is an administrative action.
func audited(of connect.Spec) bool {
	return of.IdempotencyLevel != connect.IdempotencyNoSideEffects && !slices.Contains(content, of.Procedure)
}

// record runs the call of a procedure as an action of the audit log.
func record(ctx context.Context, log *audit.Log, procedure string, req proto.Message, call func(context.Context) (proto.Message, error)) error {
	object, others := namesIn(req.ProtoReflect())
	if len(others) > 0 {
		object["fields"] = strings.Join(others, ", ")
	}
	action := audit.Action{Method: strings.TrimPrefix(procedure, "/"), Object: object, Tenant: object["tenantId"]}
	return log.Do(ctx, action, func(ctx context.Context) (map[string]string, error) {
		res, err := call(ctx)
		if err != nil {
			return nil, err
		}
		return made(res.ProtoReflect(), object), nil
	})
}

// namesIn returns the names and ids in a message and in the messages that it holds, by field, and
// its other fields that are set. Values of other fields may be secret.
func namesIn(m protoreflect.Message) (names map[string]string, others []string) {
	names = map[string]string{}
	m.Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		switch {
		case isName(field):
			names[field.JSONName()] = value.String()
			return true
		case field.Message() != nil && !field.IsMap() && !field.IsList() && field.Message().FullName().Parent() == m.Descriptor().FullName().Parent():
			value.Message().Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
				if _, known := names[field.JSONName()]; isName(field) && !known {
					names[field.JSONName()] = value.String()
				}
				return true
			})
		}
		others = append(others, field.JSONName())
		return true
	})
	slices.Sort(others)
	return names, others
}

// isName reports whether a field holds the name or the id of an object.
func isName(field protoreflect.FieldDescriptor) bool {
	name := string(field.Name())
	return field.Kind() == protoreflect.StringKind && field.Cardinality() != protoreflect.Repeated &&
		(name == "name" || strings.HasSuffix(name, "_name") || strings.HasSuffix(name, "_id"))
}

// made returns the names and ids in an answer that are not in the request.
func made(answer protoreflect.Message, known map[string]string) map[string]string {
	names, _ := namesIn(answer)
	maps.DeleteFunc(names, func(name, text string) bool { return known[name] == text })
	return names
}

// Recorded is the API for interfaces other than this one: administrative actions of their callers
// are recorded in the audit log, as those over RPC are.
type Recorded struct{ *Handlers }

// CreateIndex implements IndexService.
func (r Recorded) CreateIndex(ctx context.Context, req *ragdv1.CreateIndexRequest) (*ragdv1.Index, error) {
	return recorded(ctx, r.Audit, ragdv1connect.IndexServiceCreateIndexProcedure, req, r.Handlers.CreateIndex)
}

// DeleteIndex implements IndexService.
func (r Recorded) DeleteIndex(ctx context.Context, req *ragdv1.DeleteIndexRequest) (*ragdv1.DeleteIndexResponse, error) {
	return recorded(ctx, r.Audit, ragdv1connect.IndexServiceDeleteIndexProcedure, req, r.Handlers.DeleteIndex)
}

// DeleteDocuments implements DocumentService.
func (r Recorded) DeleteDocuments(ctx context.Context, req *ragdv1.DeleteDocumentsRequest) (*ragdv1.DeleteDocumentsResponse, error) {
	return recorded(ctx, r.Audit, ragdv1connect.DocumentServiceDeleteDocumentsProcedure, req, r.Handlers.DeleteDocuments)
}

func recorded[Req, Res proto.Message](ctx context.Context, log *audit.Log, procedure string, req Req, call func(context.Context, Req) (Res, error)) (res Res, err error) {
	err = record(ctx, log, procedure, req, func(ctx context.Context) (proto.Message, error) {
		res, err = call(ctx, req)
		return res, err
	})
	return res, err
}

// ListAuditEntries implements AuditService.
func (h *Handlers) ListAuditEntries(ctx context.Context, req *ragdv1.ListAuditEntriesRequest) (*ragdv1.ListAuditEntriesResponse, error) {
	q := audit.Question{Kind: audit.Kind(req.GetKind()), Subject: req.GetSubject(), Method: req.GetMethod(), Outcome: req.GetOutcome()}
	var err error
	if q.From, q.To, err = timesOf(req.GetStartTime(), req.GetEndTime()); err != nil {
		return nil, err
	}
	found, next, err := h.Audit.List(ctx, q, req.GetPageSize(), req.GetPageToken())
	if err != nil {
		return nil, err
	}
	entries, err := convertAll(ctx, found, auditEntry)
	return &ragdv1.ListAuditEntriesResponse{Entries: entries, NextPageToken: next}, err
}

func auditEntry(e audit.Entry) (*ragdv1.AuditEntry, error) {
	return &ragdv1.AuditEntry{
		EntryId: strconv.FormatInt(e.ID, 10), CreateTime: timestamp(e.At), Kind: string(e.Kind), TenantId: e.Tenant, Subject: e.Subject, Issuer: e.Issuer,
		ClientAddress: e.Client, Method: e.Method, Object: e.Object, RequestId: e.RequestID, Calls: int32(e.Calls), Outcome: e.Outcome,
		EndTime: optionalTimestamp(e.Answered), Result: e.Result,
	}, nil
}
