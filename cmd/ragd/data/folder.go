package data

import (
	"context"

	"github.com/ragdhq/ragd/cmd/ragd/internal/client"
	"github.com/ragdhq/ragd/cmd/ragd/internal/command"
	"github.com/ragdhq/ragd/cmd/ragd/internal/localfiles"
	"github.com/ragdhq/ragd/cmd/ragd/internal/upload"
	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
)

// IngestFolder ingests a folder into an index, which it makes if it is missing, and prints a
// report unless JSON is wanted. Uris are relative to the folder. Documents that failed are in the
// result; they are no error.
func IngestFolder(ctx context.Context, p *command.Program, c *client.Client, folder, index string) (*upload.Result, error) {
	o := ingestOptions{paths: []string{folder}, files: localfiles.Options{Base: folder}, index: index}
	docs, size, err := open(p, o)
	if err != nil {
		return nil, err
	}
	if _, err := ensureIndex(ctx, p, c, index, true); err != nil {
		return nil, err
	}
	result, err := uploadAll(ctx, p, c, docs, size, upload.Config{Index: index})
	if err == nil && !p.Out.JSON {
		printIngest(p, index, result, rateOf(result), false)
	}
	return result, err
}

// PrintSources prints the passages of an answer, best first.
func PrintSources(p *command.Program, answer *ragdv1.VectorQueryResponse) error {
	return printSources(p, sourceList{sources: answer.GetSources(), warnings: answer.GetWarnings()})
}
