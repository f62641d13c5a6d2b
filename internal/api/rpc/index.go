package rpc

import (
	"context"
	"encoding/json"

	"google.golang.org/protobuf/types/known/structpb"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/metadata"
	"github.com/ragdhq/ragd/internal/query"
	"github.com/ragdhq/ragd/internal/query/notable"
)

// CreateIndex implements IndexService.
func (h *Handlers) CreateIndex(ctx context.Context, req *ragdv1.CreateIndexRequest) (*ragdv1.Index, error) {
	chunking, err := chunkingSettings(req.GetChunking())
	if err != nil {
		return nil, err
	}
	extract, err := extractSettings(req.GetExtract())
	if err != nil {
		return nil, err
	}
	schema, err := schemaJSON(req.GetMetadataSchema())
	if err != nil {
		return nil, err
	}
	i, counts, err := h.Indexes.Create(ctx, index.Spec{
		Name: req.GetIndexName(), Dimension: int(req.GetDimension()), Metric: index.Metric(req.GetMetric()),
		VectorType: index.VectorType(req.GetVectorType()), Config: indexConfigOf(req.GetIndexConfig()),
		MetadataIndexes: req.GetMetadataIndexes(),
		EmbeddingModel:  req.GetEmbeddingModel(), Chunking: chunking, Extract: extract, TextLanguage: req.GetTextLanguage(),
		Graph: graphSettingsOf(req.GetGraph()), MetadataSchema: schema, RecallTarget: req.GetRecallTarget(),
	})
	if err != nil {
		return nil, err
	}
	return indexMessage(index.Described{Index: i, Counts: counts})
}

func indexConfigOf(c *ragdv1.IndexConfig) index.Config {
	return index.Config{
		Type: index.Type(c.GetType()), M: int(c.GetHnsw().GetM()), EfConstruction: int(c.GetHnsw().GetEfConstruction()),
		Lists: int(c.GetIvf().GetLists()),
	}
}

// UpdateIndex implements IndexService.
func (h *Handlers) UpdateIndex(ctx context.Context, req *ragdv1.UpdateIndexRequest) (*ragdv1.Index, error) {
	change := index.Change{ETag: req.GetEtag()}
	if c := req.GetIndexConfig(); c != nil {
		config := indexConfigOf(c)
		change.Config = &config
	}
	if m := req.GetMetadataIndexes(); m != nil {
		fields := append([]string{}, m.GetFields()...)
		change.MetadataIndexes = &fields
	}
	if c := req.GetChunking(); c != nil {
		chunking, err := chunkingSettings(c)
		if err != nil {
			return nil, err
		}
		change.Chunking = &chunking
	}
	var err error
	if change.Extract, err = extractSettings(req.GetExtract()); err != nil {
		return nil, err
	}
	if model := req.GetEmbeddingModel(); model != "" {
		change.EmbeddingModel = &model
	}
	change.Dimension = int(req.GetDimension())
	if g := req.GetGraph(); g != nil {
		settings := graphSettingsOf(g)
		change.Graph = &settings
	}
	change.RecordQuestions, change.RecallTarget = req.RecordQuestions, req.RecallTarget
	if req.GetMetadataSchema() != nil {
		schema, err := schemaJSON(req.GetMetadataSchema())
		if err != nil {
			return nil, err
		}
		change.MetadataSchema = &schema
	}
	i, counts, err := h.Indexes.Update(ctx, req.GetIndexName(), change)
	if err != nil {
		return nil, err
	}
	return indexMessage(index.Described{Index: i, Counts: counts})
}

// schemaJSON returns a JSON Schema as JSON, nil for none.
func schemaJSON(schema *structpb.Struct) (json.RawMessage, error) {
	if schema == nil {
		return nil, nil
	}
	return metadata.Marshal("metadataSchema", schema.AsMap())
}

// BuildIndex implements IndexService.
func (h *Handlers) BuildIndex(ctx context.Context, req *ragdv1.BuildIndexRequest) (*ragdv1.BuildIndexResponse, error) {
	jobID, err := h.Indexes.Build(ctx, req.GetIndexName())
	if err != nil {
		return nil, err
	}
	return &ragdv1.BuildIndexResponse{JobId: jobID}, nil
}

func graphSettingsOf(g *ragdv1.GraphSettings) index.Graph {
	if g == nil {
		return index.Graph{}
	}
	return index.Graph{Off: g.GetOff(), EdgeTypes: g.GetEdgeTypes(), Threshold: g.Threshold, TopicModel: g.GetTopicModel()}
}

// RebuildGraph implements IndexService.
func (h *Handlers) RebuildGraph(ctx context.Context, req *ragdv1.RebuildGraphRequest) (*ragdv1.RebuildGraphResponse, error) {
	jobID, err := h.Graphs.Rebuild(ctx, req.GetIndexName())
	if err != nil {
		return nil, err
	}
	return &ragdv1.RebuildGraphResponse{JobId: jobID}, nil
}

// TruncateIndex implements IndexService.
func (h *Handlers) TruncateIndex(ctx context.Context, req *ragdv1.TruncateIndexRequest) (*ragdv1.TruncateIndexResponse, error) {
	return &ragdv1.TruncateIndexResponse{}, h.Indexes.Truncate(ctx, req.GetIndexName())
}

// DescribeIndex implements IndexService.
func (h *Handlers) DescribeIndex(ctx context.Context, req *ragdv1.DescribeIndexRequest) (*ragdv1.Index, error) {
	i, counts, err := h.Indexes.Describe(ctx, req.GetIndexName())
	if err != nil {
		return nil, err
	}
	graph, err := h.Graphs.Counts(ctx, i.ID)
	if err != nil {
		return nil, err
	}
	fields, err := h.Queries.Fields(ctx, i.Name)
	if err != nil && fault.KindOf(err) != fault.Deadline { // a sample that takes too long is left out
		return nil, err
	}
	message, err := indexMessage(index.Described{Index: i, Counts: counts})
	if err != nil {
		return nil, err
	}
	if message.Fields, err = convertAll(ctx, fields, fieldMessage); err != nil {
		return nil, err
	}
	g := message.Graph
	g.Names, g.Mentions, g.Similarities = int32(graph.Names), int32(graph.Mentions), int32(graph.Similarities)
	g.Components = int32(graph.Components)
	if graph.CountedAt != nil {
		g.ComponentsTime = timestamp(*graph.CountedAt)
	}
	if !i.Graph.Off {
		g.Nodes = int32(counts.Chunks)
	}
	return message, nil
}

func fieldMessage(f query.Field) (message *ragdv1.MetadataField, err error) {
	message = &ragdv1.MetadataField{Name: f.Name, Types: f.Types, List: f.List, Share: f.Share, Indexed: f.Indexed, Declared: f.Declared, Description: f.Description, Values: make([]*structpb.Value, len(f.Values))}
	for n, v := range f.Values {
		if message.Values[n], err = structpb.NewValue(v); err != nil {
			return nil, err
		}
	}
	if f.Least == nil {
		return message, nil
	}
	if message.Least, err = structpb.NewValue(f.Least); err != nil {
		return nil, err
	}
	message.Greatest, err = structpb.NewValue(f.Most)
	return message, err
}

// ListIndexes implements IndexService.
func (h *Handlers) ListIndexes(ctx context.Context, req *ragdv1.ListIndexesRequest) (*ragdv1.ListIndexesResponse, error) {
	found, next, err := h.Indexes.List(ctx, req.GetPageSize(), req.GetPageToken())
	if err != nil {
		return nil, err
	}
	indexes, err := convertAll(ctx, found, indexMessage)
	names := make([]string, len(found))
	for i, f := range found {
		names[i] = f.Name
	}
	return &ragdv1.ListIndexesResponse{Indexes: indexes, IndexNames: names, NextPageToken: next}, err
}

// DeleteIndex implements IndexService.
func (h *Handlers) DeleteIndex(ctx context.Context, req *ragdv1.DeleteIndexRequest) (*ragdv1.DeleteIndexResponse, error) {
	return &ragdv1.DeleteIndexResponse{}, h.Indexes.Delete(ctx, req.GetIndexName())
}

// searchWidthMessage returns the measurement of the search width, nil if there is none.
func searchWidthMessage(i index.Index) *ragdv1.SearchWidth {
	m := i.Measured()
	if m.Width == 0 {
		return nil
	}
	message := &ragdv1.SearchWidth{Width: int32(m.Width), Recall: m.Recall, Questions: int32(m.Questions), OwnQuestions: m.Own}
	if !m.At.IsZero() {
		message.MeasureTime = timestamp(m.At)
	}
	return message
}

// ListNotableQuestions implements IndexService.
func (h *Handlers) ListNotableQuestions(ctx context.Context, req *ragdv1.ListNotableQuestionsRequest) (*ragdv1.ListNotableQuestionsResponse, error) {
	found, next, err := h.Notable.List(ctx, req.GetIndexName(), notable.Kind(req.GetKind()), req.GetPageSize(), req.GetPageToken())
	if err != nil {
		return nil, err
	}
	res := &ragdv1.ListNotableQuestionsResponse{NextPageToken: next}
	for _, q := range found {
		res.Questions = append(res.Questions, &ragdv1.NotableQuestion{
			IndexName: q.IndexName, Namespace: q.Namespace, Kind: string(q.Kind), Text: q.Text, Count: q.Asked, LastTime: timestamp(q.AskedAt),
			BestScore: q.BestScore, SlowestMs: q.Slowest * 1000, Code: q.Code,
		})
	}
	return res, nil
}

// DeleteAskedQuestions implements IndexService.
func (h *Handlers) DeleteAskedQuestions(ctx context.Context, req *ragdv1.DeleteAskedQuestionsRequest) (*ragdv1.DeleteAskedQuestionsResponse, error) {
	n, err := h.Indexes.DeleteAskedQuestions(ctx, req.GetIndexName())
	return &ragdv1.DeleteAskedQuestionsResponse{Deleted: int32(n)}, err
}

func indexMessage(i index.Described) (*ragdv1.Index, error) {
	chunking, err := chunkingMessage(i.Chunking)
	if err != nil {
		return nil, err
	}
	extract, err := extractMessage(i.Extract)
	if err != nil {
		return nil, err
	}
	config := &ragdv1.IndexConfig{Type: string(i.Config.Type)}
	if i.Config.Type == index.HNSW {
		config.Hnsw = &ragdv1.HnswConfig{M: int32(i.Config.M), EfConstruction: int32(i.Config.EfConstruction)}
	}
	if i.Config.Type == index.IVFFlat {
		config.Ivf = &ragdv1.IvfConfig{Lists: int32(i.Config.Lists)}
	}
	message := &ragdv1.Index{
		IndexName: i.Name, Dimension: int32(i.Dimension), Metric: string(i.Metric), IndexConfig: config,
		VectorType: string(i.VectorType), MetadataIndexes: i.MetadataIndexes,
		EmbeddingModel: i.EmbeddingModel, Chunking: chunking, Extract: extract, TextLanguage: i.TextLanguage,
		Count: int32(i.Counts.Chunks), DocumentCount: int32(i.Counts.ReadyDocuments),
		PendingDocumentCount: int32(i.Counts.PendingDocuments), FailedDocumentCount: int32(i.Counts.FailedDocuments),
		Graph:       &ragdv1.Graph{Settings: &ragdv1.GraphSettings{Off: i.Graph.Off, EdgeTypes: i.Graph.EdgeTypes, Threshold: i.Graph.Threshold, TopicModel: i.Graph.TopicModel}},
		SearchWidth: searchWidthMessage(i.Index), RecordQuestions: i.RecordsQuestions, RecallTarget: i.RecallTarget, OldEmbeddings: i.OldEmbeddings,
		Status: i.Status(), CreateTime: timestamp(i.CreatedAt), UpdateTime: timestamp(i.UpdatedAt), Etag: i.ETag(),
	}
	if len(i.MetadataSchema) > 0 {
		if message.MetadataSchema, err = rawStruct(i.MetadataSchema); err != nil {
			return nil, err
		}
	}
	message.Tuning = tuningMessage(i.Tuning())
	for _, p := range i.Profiles() {
		message.RankingProfiles = append(message.RankingProfiles, p.Name)
		if p.Default {
			message.DefaultRankingProfile = p.Name
		}
	}
	if i.Next != nil {
		message.NextEmbeddingModel, message.ReembedJobId = i.Next.EmbeddingModel, i.Next.JobID
	}
	return message, nil
}
