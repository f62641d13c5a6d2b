package data

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/ragdhq/ragd/cmd/ragd/internal/client"
	"github.com/ragdhq/ragd/cmd/ragd/internal/command"
	"github.com/ragdhq/ragd/cmd/ragd/internal/output"
	"github.com/ragdhq/ragd/cmd/ragd/internal/paging"
	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
)

func documentDeleted(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "deleted",
		Short: "List deleted documents that can be restored",
		Long: `List deleted documents that can be restored, the newest deletion first: when and by
whom they were deleted, and when they are erased.`,
		Example: `  ragd document deleted --index handbook
  ragd document deleted --filter '{"team": "legal"}' --json | jq -r .document.uri`,
		Args: command.Arguments(),
	}
	name := command.IndexFlag(cmd)
	namespace := cmd.Flags().String("namespace", "", "only documents of this namespace (default of all)")
	filter := command.FilterFlags(cmd.Flags(), "only documents whose metadata match")
	limit := command.LimitFlag(cmd.Flags())
	cmd.RunE = p.Call(client.ForTenant, func(ctx context.Context, c *client.Client, _ []string) error {
		index, err := c.ExistingIndex(ctx, *name)
		if err != nil {
			return err
		}
		documents := paging.Items(*limit, func(size int32, token string) ([]*ragdv1.KeptDocument, string, error) {
			page, err := c.Documents.ListDeleted(ctx, &ragdv1.ListDeletedRequest{
				IndexName: index, Namespace: *namespace, Filter: filter(), PageSize: size, PageToken: token,
			})
			return page.GetDocuments(), page.GetNextPageToken(), err
		})
		return output.List(p.Out, "deleted documents", documents, "DOCUMENT URI BYTES DELETED BY ERASED", func(d *ragdv1.KeptDocument) []any {
			return []any{
				d.GetDocument().GetDocumentId(), d.GetDocument().GetUri(), d.GetDocument().GetByteSize(),
				output.Stamp(d.GetDeleteTime()), d.GetDeletedBy(), output.Stamp(d.GetEraseTime()),
			}
		})
	})
	return cmd
}

func documentRestore(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "restore [DOCUMENT...]",
		Short: "Restore deleted documents",
		Long: `Restore deleted documents as they were, by their ids or with --since all that were
deleted lately. "ragd document deleted" lists them.

Where a document with the uri of a deleted one was uploaded since, nothing is restored,
unless --on-conflict says to skip the deleted one, or to replace the other, which is
then among the deleted ones itself.`,
		Example: `  ragd document restore 019a4c1e-8f0a-7c3e-9b55-0d7f5f1d2c11
  ragd document restore --since 1h --index handbook
  ragd document restore --since 1h --on-conflict skip`,
	}
	name := command.IndexFlag(cmd)
	flags := cmd.Flags()
	req := &ragdv1.RestoreDocumentsRequest{}
	flags.StringVar(&req.Namespace, "namespace", "", "only documents of this namespace (default of all)")
	flags.StringVar(&req.OnConflict, "on-conflict", "refuse", "what to do where a document with the uri was uploaded since: refuse, skip or replace")
	since := flags.Duration("since", 0, "all that were deleted in the last hours or minutes, such as 6h")
	cmd.Args = func(_ *cobra.Command, args []string) error {
		if (len(args) > 0) == (*since > 0) {
			return errors.New("give either DOCUMENT or --since")
		}
		return nil
	}
	cmd.RunE = p.Call(client.ForTenant, func(ctx context.Context, c *client.Client, args []string) (err error) {
		if req.IndexName, err = c.ExistingIndex(ctx, *name); err != nil {
			return err
		}
		req.DocumentIds = args
		if *since > 0 {
			req.Since = timestamppb.New(time.Now().Add(-*since))
		}
		res, err := restoreAll(ctx, c, req)
		if err != nil {
			return err
		}
		if len(args) > 0 && res.GetRestoredCount()+res.GetSkippedCount() == 0 {
			return errors.New("none of the documents is among the deleted ones")
		}
		return p.Out.Show(res, func(w io.Writer) {
			fmt.Fprintf(w, "restored %s of index %s\n", output.Count(int(res.GetRestoredCount()), "document"), req.GetIndexName())
			if n := int(res.GetSkippedCount()); n > 0 {
				fmt.Fprintf(w, "skipped %s whose uri was uploaded since\n", output.Count(n, "document"))
			}
		})
	})
	return cmd
}

// restoreAll restores documents in as many calls as it takes.
func restoreAll(ctx context.Context, c *client.Client, req *ragdv1.RestoreDocumentsRequest) (*ragdv1.RestoreDocumentsResponse, error) {
	all := &ragdv1.RestoreDocumentsResponse{Remaining: true}
	for all.GetRemaining() {
		some, err := c.Documents.RestoreDocuments(ctx, req)
		if err != nil {
			return nil, err
		}
		all.RestoredCount += some.GetRestoredCount()
		all.Documents = append(all.Documents, some.GetDocuments()...)
		all.SkippedCount = some.GetSkippedCount() // of all that are left
		all.Remaining = some.GetRemaining()
	}
	return all, nil
}

func documentErase(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "erase [DOCUMENT...]",
		Short: "Erase deleted documents at once",
		Long: `Erase deleted documents at once, by their ids or with --all all of the index, instead
of at the end of their retention. They cannot be restored then. Needs a key with the
scope admin.`,
		Example: `  ragd document erase 019a4c1e-8f0a-7c3e-9b55-0d7f5f1d2c11 --yes
  ragd document erase --all --index handbook`,
	}
	name := command.IndexFlag(cmd)
	req := &ragdv1.EraseDeletedRequest{}
	cmd.Flags().StringVar(&req.Namespace, "namespace", "", "only documents of this namespace (default of all)")
	cmd.Flags().BoolVar(&req.All, "all", false, "all deleted documents of the index")
	yes := command.YesFlag(cmd)
	cmd.Args = func(_ *cobra.Command, args []string) error {
		if (len(args) > 0) == req.GetAll() {
			return errors.New("give either DOCUMENT or --all")
		}
		return nil
	}
	cmd.RunE = p.Call(client.ForTenant, func(ctx context.Context, c *client.Client, args []string) (err error) {
		if req.IndexName, err = c.ExistingIndex(ctx, *name); err != nil {
			return err
		}
		req.DocumentIds = args
		what := "all deleted documents of index " + req.GetIndexName()
		if len(args) > 0 {
			what = output.Count(len(args), "deleted document")
		}
		if err := p.Confirm(ctx, *yes, "yes", "This erases %s, which cannot be restored then.", what); err != nil {
			return err
		}
		res, err := c.Documents.EraseDeleted(ctx, req)
		if err != nil {
			return err
		}
		return p.Out.Show(res, func(w io.Writer) {
			fmt.Fprintf(w, "erased %s of index %s\n", output.Count(int(res.GetErasedCount()), "document"), req.GetIndexName())
		})
	})
	return cmd
}
