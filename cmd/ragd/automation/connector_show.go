package automation

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/ragdhq/ragd/cmd/ragd/internal/output"
	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
)

// showConnector prints a connector for people.
func showConnector(c *ragdv1.Connector) func(io.Writer) {
	return func(w io.Writer) {
		output.Field(w, "connector", c.GetConnectorName())
		output.Field(w, "index", c.GetIndexName())
		output.Field(w, "namespace", c.GetNamespace())
		output.Field(w, "description", c.GetDescription())
		output.Field(w, "website", c.GetWeb().GetUrl())
		output.Field(w, "feed", c.GetFeed().GetUrl())
		output.Field(w, "repository", c.GetGit().GetUrl())
		output.Field(w, "branch", c.GetGit().GetBranch())
		output.Field(w, "server", c.GetS3().GetEndpoint())
		output.Field(w, "bucket", c.GetS3().GetBucket())
		output.Field(w, "prefix", c.GetS3().GetPrefix())
		output.Field(w, "folder", c.GetFolder().GetPath())
		output.Field(w, "query", c.GetPostgres().GetQuery()+c.GetMysql().GetQuery()+c.GetSqlite().GetQuery())
		output.Field(w, "database", c.GetSqlite().GetPath())
		if r := c.GetPostgres().GetReplication(); r != nil {
			output.Field(w, "changes", fmt.Sprintf("publication %s, slot %s", r.GetPublication(), r.GetSlot()))
		}
		output.Field(w, "web API", apiName(c))
		output.Field(w, "streams", strings.Join(c.GetHttp().GetStreams(), ", "))
		include, exclude := selectionOf(c)
		output.Field(w, "include", strings.Join(include, ", "))
		output.Field(w, "exclude", strings.Join(exclude, ", "))
		output.Field(w, "MCP server", c.GetMcp().GetUrl())
		output.Field(w, "authorization", c.GetAuthorization())
		output.Field(w, "schedule", c.GetSchedule())
		output.Field(w, "push to", c.GetPushUrl())
		output.Field(w, "push secret", c.GetPushSecretName())
		output.Field(w, "most items", fmt.Sprint(c.GetMaxItems()))
		output.Field(w, "state", connectorState(c))
		output.Field(w, "paused because", c.GetPausedReason())
		output.Field(w, "error", c.GetError())
		if c.GetStartTime() != nil {
			output.Field(w, "started", output.Stamp(c.GetStartTime()))
			n := c.GetCounts()
			output.Field(w, "items", fmt.Sprintf("%d seen, %d added, %d updated, %d unchanged, %d skipped, %d failed, %d deleted",
				n.GetSeen(), n.GetAdded(), n.GetUpdated(), n.GetUnchanged(), n.GetSkipped(), n.GetFailed(), n.GetDeleted()))
			output.Field(w, "requests", fmt.Sprintf("%d, %d bytes", n.GetRequests(), n.GetBytes()))
		}
		if c.GetEndTime() != nil {
			output.Field(w, "ended", output.Stamp(c.GetEndTime()))
		}
		if c.GetNextRunTime() != nil {
			output.Field(w, "next run", output.Stamp(c.GetNextRunTime()))
		}
		for _, r := range c.GetRuns() {
			if proto.Equal(r.GetStartTime(), c.GetStartTime()) {
				continue // it is shown above
			}
			n := r.GetCounts()
			output.Field(w, "earlier run", strings.TrimSpace(fmt.Sprintf("%s %s: %d seen, %d added, %d updated, %d failed, %d deleted %s",
				output.Stamp(r.GetStartTime()), r.GetStatus(), n.GetSeen(), n.GetAdded(), n.GetUpdated(), n.GetFailed(), n.GetDeleted(), output.OneLine(r.GetError()))))
		}
	}
}

// apiName returns what a connector of a web API reads: its recipe, or its manifest. It is empty for other connectors.
func apiName(c *ragdv1.Connector) string {
	if c.GetHttp() == nil {
		return ""
	}
	return cmp.Or(c.GetHttp().GetRecipe(), "manifest")
}

// selectionOf returns the patterns of the source of a connector.
func selectionOf(c *ragdv1.Connector) (include, exclude []string) {
	switch source := c.GetSource().(type) {
	case *ragdv1.Connector_Web:
		return source.Web.GetInclude(), source.Web.GetExclude()
	case *ragdv1.Connector_Git:
		return source.Git.GetInclude(), source.Git.GetExclude()
	case *ragdv1.Connector_S3:
		return source.S3.GetInclude(), source.S3.GetExclude()
	case *ragdv1.Connector_Folder:
		return source.Folder.GetInclude(), source.Folder.GetExclude()
	}
	return nil, nil
}

func connectorState(c *ragdv1.Connector) string {
	switch {
	case c.GetPaused():
		return "paused"
	case c.GetStatus() == "":
		return "new"
	}
	return c.GetStatus()
}
