package ingest

import (
	"context"

	"github.com/ragdhq/ragd/internal/chunk"
	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/model/embed"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/data"
	"github.com/ragdhq/ragd/internal/tenant/job"
)

const (
	// embedBatch is how many chunks are embedded between two reports of progress.
	embedBatch = 256
	// embedWindow is how many embeddings of one document are held in memory.
	embedWindow = 2048
)

// embed sets the embeddings of the chunks of all tasks, which are of one index. A chunk
// whose text the stored version of its document also has reuses the stored embedding.
func (w *Worker) embed(ctx context.Context, h *data.Handle, tasks []*task) error {
	model, err := tasks[0].into.Model(ctx, w.models, tasks[0].Tenant)
	if err != nil {
		return err
	}
	if len(tasks) == 1 && len(tasks[0].chunks) > embedWindow {
		return embedLong(ctx, h, model, tasks[0])
	}
	known, err := storedEmbeddings(ctx, h, tasks)
	if err != nil {
		return err
	}
	wanted := unembedded{index: tasks[0].into}
	for _, t := range tasks {
		t.embeddings = embeddings{inMemory: wanted.add(t.Title, t.chunks, known)}
	}
	return wanted.embed(ctx, tasks[0].Tenant, model, func(done int) error {
		if len(tasks) > 1 || len(wanted.texts) <= embedBatch {
			return nil
		}
		total := len(tasks[0].chunks)
		return job.Progress(ctx, h, tasks[0].JobID, total-len(wanted.texts)+done, total)
	})
}

// embedLong sets the embeddings of a document with too many chunks to keep the embeddings
// in memory. It writes them to a file.
func embedLong(ctx context.Context, h *data.Handle, model *embed.Model, t *task) error {
	stored, err := storedHashes(ctx, h, t)
	if err != nil {
		return err
	}
	if t.embeddings, err = spoolEmbeddings(t.Tenant, t.into.Dimension); err != nil {
		return err
	}
	for first := 0; first < len(t.chunks); first += embedWindow {
		window := t.chunks[first:min(first+embedWindow, len(t.chunks))]
		known, err := storedEmbeddingsOf(ctx, h, t, window, stored)
		if err != nil {
			return err
		}
		wanted := unembedded{index: t.into}
		made := wanted.add(t.Title, window, known)
		err = wanted.embed(ctx, t.Tenant, model, func(done int) error {
			return job.Progress(ctx, h, t.JobID, first+len(window)-len(wanted.texts)+done, len(t.chunks))
		})
		if err != nil {
			return err
		}
		if err := t.embeddings.append(made); err != nil {
			return err
		}
	}
	return nil
}

// unembedded holds texts to embed, and where to store the embeddings.
type unembedded struct {
	index index.Index
	texts []string
	into  []*[]float32
}

// add returns the embeddings of chunks. Those that are not in known are set by a later call
// of embed.
func (u *unembedded) add(title string, chunks []chunk.Chunk, known map[textHash][]float32) [][]float32 {
	all := make([][]float32, len(chunks))
	for i, c := range chunks {
		if len(known) > 0 {
			all[i] = known[hashOf(title, c)]
		}
		if all[i] == nil {
			u.texts, u.into = append(u.texts, embeddedText(u.index, title, c.Metadata, c.Text)), append(u.into, &all[i])
		}
	}
	return all
}

// embed embeds the texts of a tenant in batches. Before each batch it reports how many are done.
func (u *unembedded) embed(ctx context.Context, id tenant.ID, model *embed.Model, report func(done int) error) error {
	for done := 0; done < len(u.texts); done += embedBatch {
		if err := report(done); err != nil {
			return err
		}
		made, err := model.Embed(ctx, string(id), u.texts[done:min(done+embedBatch, len(u.texts))])
		if err != nil {
			return err
		}
		for i, embedding := range made {
			*u.into[done+i] = embedding
		}
	}
	return nil
}
